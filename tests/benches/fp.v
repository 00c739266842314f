// SPDX-FileCopyrightText: castbag contributors
// SPDX-License-Identifier: BSD-2-Clause

// A binary32 unit against a file of {a, b, expected}, 32 bits each, big-endian. UNIT is the module
// and LATENCY its latency, defined in front of this text.
//
// Operands enter at every enabled edge; by turns for 4096 cycles all edges are enabled, and about
// half of them at random. The output is compared at every edge, enabled or not, so that a unit
// which is early, late, or moves while it should stand fails at once.

module fp_bench (
    output reg done,
    output reg failed,
    output reg [31:0] checked,
    output reg [31:0] a,  // operands, expectation and result of the first failure
    output reg [31:0] b,
    output reg [31:0] expected,
    output reg [31:0] result
);
  reg clk = 0;
  always #5 clk = ~clk;

  reg en = 0;
  reg [95:0] operands = 0;
  reg offered = 0;  // they come from the file
  wire [31:0] o;
  `UNIT unit (
      .clk(clk),
      .en(en),
      .a(operands[95:64]),
      .b(operands[63:32]),
      .o(o)
  );

  // What went in at the last LATENCY enabled edges, the oldest one on top.
  reg [97*`LATENCY-1:0] entered = 0;
  wire [96:0] oldest = entered[97*`LATENCY-1-:97];

  integer file;
  reg [95:0] word;
  reg [12:0] cycle = 0;
  reg at_end = 0;
  reg [31:0] taken = 0;
  initial begin
    done = 0;
    failed = 0;
    checked = 0;
    file = $fopen("operands.bin", "rb");
  end

  always @(posedge clk) begin
    cycle <= cycle + 1;
    en <= cycle[12] ? $urandom : 1'b1;
    if (oldest[96] && !failed && o !== oldest[31:0]) begin
      failed <= 1;
      {a, b, expected} <= oldest[95:0];
      result <= o;
    end
    done <= failed || (at_end && checked == taken);
    if (en) begin
      taken <= taken + offered;
      checked <= checked + oldest[96];
      entered <= {entered[97*(`LATENCY-1)-1:0], offered, operands};
      if (!at_end && $fread(word, file) == 12) begin
        operands <= word;
        offered  <= 1;
      end else begin
        offered <= 0;
        at_end  <= !offered;
      end
    end
  end
endmodule
