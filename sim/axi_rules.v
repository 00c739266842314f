// SPDX-FileCopyrightText: castbag contributors
// SPDX-License-Identifier: BSD-2-Clause

// Watches an AXI4 manager and keeps the first rule it breaks (Arm IHI 0022, chapter A3).
//
// `broken` is the rule's number, 0 for none, as named in castbag.sim.session; `address` that of
// the burst, 0 where it is not known. `outside` is set once a burst goes beyond `bytes`, which
// breaks no rule of the bus; `outside_address` is the first such burst's. Cleared by `clear`.
// W may come before its address; neither may be more than OUTSTANDING bursts ahead.
module axi_rules #(
    parameter ADDRESS_BITS = 32,
    parameter DATA_BITS = 64,
    parameter OUTSTANDING = 256
) (
    input clk,
    input rst,
    input clear,
    input [63:0] bytes,
    output reg [3:0] broken,
    output reg [63:0] address,
    output reg outside,
    output reg [63:0] outside_address,

    input [ADDRESS_BITS-1:0] araddr,
    input [7:0] arlen,
    input [2:0] arsize,
    input [1:0] arburst,
    input arid,
    input arvalid,
    input arready,
    input [ADDRESS_BITS-1:0] awaddr,
    input [7:0] awlen,
    input [2:0] awsize,
    input [1:0] awburst,
    input awid,
    input awvalid,
    input awready,
    input [DATA_BITS-1:0] wdata,
    input [DATA_BITS/8-1:0] wstrb,
    input wlast,
    input wvalid,
    input wready
);
  localparam SHIFT = $clog2(DATA_BITS / 8);

  task breaks(input [3:0] rule, input [63:0] where);
    if (broken == 0) begin
      broken <= rule;
      address <= where;
    end
  endtask

  // The rules of one address; `first` is the number of the channel's first rule.
  task check(input [3:0] first, input [63:0] at, input [7:0] length, input [2:0] size,
             input [1:0] burst);
    reg [63:0] behind;
    begin
      behind = (at >> SHIFT << SHIFT) + ((length + 64'd1) << SHIFT);
      if (burst != 2'b01 || size != SHIFT) breaks(first, at);
      else if ((behind - 1) >> 12 != at >> 12) breaks(first + 1, at);
      if (behind > bytes && !outside) begin
        outside <= 1;
        outside_address <= at;
      end
    end
  endtask

  // What stood refused in the last cycle must stand unchanged in this one.
  reg ar_refused, aw_refused, w_refused;
  reg [ADDRESS_BITS+13:0] ar_stood, aw_stood;
  reg [DATA_BITS+DATA_BITS/8:0] w_stood;
  wire [ADDRESS_BITS+13:0] ar = {araddr, arlen, arsize, arburst, arid};
  wire [ADDRESS_BITS+13:0] aw = {awaddr, awlen, awsize, awburst, awid};
  wire [DATA_BITS+DATA_BITS/8:0] w = {wdata, wstrb, wlast};

  // Write bursts by their addresses, and by their data: the oldest of both are compared.
  reg [7:0] lengths [0:OUTSTANDING-1];
  reg [63:0] starts [0:OUTSTANDING-1];
  reg [31:0] beats [0:OUTSTANDING-1];
  reg [31:0] addressed, finished, compared;
  reg [31:0] beat;
  wire [31:0] next_address = addressed % OUTSTANDING, next_data = finished % OUTSTANDING;
  wire [31:0] oldest = compared % OUTSTANDING;

  always @(posedge clk) begin
    if (arvalid && arready) check(1, araddr, arlen, arsize, arburst);
    if (awvalid && awready) begin
      check(4, awaddr, awlen, awsize, awburst);
      lengths[next_address] <= awlen;
      starts[next_address] <= awaddr;
      addressed <= addressed + 1;
    end
    if (wvalid && wready) begin
      beat <= wlast ? 0 : beat + 1;
      finished <= finished + wlast;
      beats[next_data] <= beat;
    end
    if (compared != addressed && compared != finished) begin
      if (lengths[oldest] != beats[oldest]) breaks(7, starts[oldest]);
      compared <= compared + 1;
    end else if (compared != addressed && beat > lengths[oldest]) breaks(7, starts[oldest]);

    if (ar_refused && !(arvalid && ar == ar_stood)) breaks(3, ar_stood[ADDRESS_BITS+13:14]);
    if (aw_refused && !(awvalid && aw == aw_stood)) breaks(6, aw_stood[ADDRESS_BITS+13:14]);
    if (w_refused && !(wvalid && w == w_stood)) breaks(8, 0);
    ar_refused <= arvalid && !arready;
    aw_refused <= awvalid && !awready;
    w_refused <= wvalid && !wready;
    if (arvalid && !arready) ar_stood <= ar;
    if (awvalid && !awready) aw_stood <= aw;
    if (wvalid && !wready) w_stood <= w;

    if (rst || clear) outside <= 0;
    if (rst) begin
      broken <= 0;
      ar_refused <= 0;
      aw_refused <= 0;
      w_refused <= 0;
      addressed <= 0;
      finished <= 0;
      compared <= 0;
      beat <= 0;
    end
  end
endmodule
