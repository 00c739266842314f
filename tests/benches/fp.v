// SPDX-FileCopyrightText: castbag contributors
// SPDX-License-Identifier: BSD-2-Clause

// A binary32 unit against a file of {a, b, expected}, 32 bits each, big-endian. Defined in front of
// this text: UNIT, the module; LATENCY; INTERVAL, the edges from operands to operands; TWO if there
// is a `b`; TAKES if there is a `take`, without which operands are taken at every enabled edge.
//
// Operands come from the file where they are taken; before the first ones, and at all other edges,
// the unit gets noise. By turns for 4096 cycles all edges are enabled, and about half of them at
// random. The output is compared at every edge, enabled or not, from LATENCY enabled edges after
// the operands until the next result is due: so a unit which is early, late, or moves while it
// should stand fails at once. So does one that does not take at every INTERVAL-th enabled edge.

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
  reg [63:0] noise = 0;
  wire take;
  wire [63:0] entering = take && offered ? operands[95:32] : noise;
  wire [31:0] o;
  `UNIT unit (
`ifdef TWO
      .b(entering[31:0]),
`endif
`ifdef TAKES
      .take(take),
`endif
      .clk(clk),
      .en(en),
      .a(entering[63:32]),
      .o(o)
  );
`ifndef TAKES
  assign take = 1;
`endif

  // What was there at the last LATENCY enabled edges, the oldest one on top: whether it was taken,
  // and came from the file. What is due is the newest of those that were taken before.
  reg [98*`LATENCY-1:0] entered = 0;
  wire [97:0] oldest = entered[98*`LATENCY-1-:98];
  reg [96:0] last = 0;
  wire [96:0] due = oldest[97] ? oldest[96:0] : last;
  wire wrong = due[96] && o !== due[31:0];

  reg started = 0;  // it has taken
  reg [7:0] edges = 0;  // since it did last, this one included
  wire mistaken = started && en && (take != (edges == `INTERVAL));

  integer file;
  reg [95:0] word;
  reg [12:0] cycle = 0;
  reg reading = 0;
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
    reading <= reading || cycle == 300;
    en <= cycle[12] ? $urandom : 1'b1;
    noise <= {$urandom, $urandom};
    if ((wrong || mistaken) && !failed) begin
      failed <= 1;
      {a, b, expected} <= due[95:0];
      result <= o;
    end
    done <= failed || (at_end && checked == taken);
    if (en) begin
      entered <= {entered[98*(`LATENCY-1)-1:0], take, offered, operands};
      last <= due;
      checked <= checked + (oldest[97] && oldest[96]);
      edges <= take ? 1 : edges + 1;
      if (take) begin
        started <= 1;
        taken   <= taken + offered;
        offered <= 0;
        if (reading && !at_end) begin
          if ($fread(word, file) == 12) begin
            operands <= word;
            offered  <= 1;
          end else at_end <= 1;
        end
      end
    end
  end
endmodule
