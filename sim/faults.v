// SPDX-FileCopyrightText: castbag contributors
// SPDX-License-Identifier: BSD-2-Clause

// A bad day for an AXI4 manager: stands between it and its memory, and does what AXI allows. Where
// there are several read ports, they lie side by side; all have one lot, and errors come to port 0.
//
// With all controls 0 it is not there. Otherwise:
//
//   - stalls: three bits a channel, AR lowest, then R, AW, W, B: of 8 cycles, in about so many
//     nothing is passed on.
//   - order: 1 address before data, 2 all data of a burst before its address, 3 the address together
//     with the first beat.
//   - late: cycles by which each write response is held back.
//   - fault: 1 a read, 2 a write: the beat of R, or the response on B, of number `fault_at` is
//     `fault_response`; numbers count from 0 at `arm`.
//   - mute: from that number of beats and responses on, none is passed on.
module faults #(
    parameter READ_PORTS = 1
) (
    input clk,
    input rst,
    input [14:0] stalls,
    input [1:0] order,
    input [15:0] late,
    input [1:0] fault,
    input [31:0] fault_at,
    input [1:0] fault_response,
    input mute,
    input arm,

    // The manager's side, then the memory's.
    input [READ_PORTS-1:0] arvalid,
    output [READ_PORTS-1:0] arready,
    output [READ_PORTS-1:0] rvalid,
    input [READ_PORTS-1:0] rready,
    output [READ_PORTS*2-1:0] rresp,
    input awvalid,
    output awready,
    input wvalid,
    output wready,
    input wlast,
    output bvalid,
    input bready,
    output [1:0] bresp,
    output [READ_PORTS-1:0] m_arvalid,
    input [READ_PORTS-1:0] m_arready,
    input [READ_PORTS-1:0] m_rvalid,
    output [READ_PORTS-1:0] m_rready,
    input [READ_PORTS*2-1:0] m_rresp,
    output m_awvalid,
    input m_awready,
    output m_wvalid,
    input m_wready,
    input m_bvalid,
    output m_bready,
    input [1:0] m_bresp
);
  reg [31:0] random;  // xorshift
  reg [4:0] open;  // channels that are not stalled in this cycle
  // What was passed on and not taken stays.
  reg [READ_PORTS-1:0] ar_standing, r_standing;
  reg aw_standing, w_standing, b_standing;
  reg [31:0] beats, answers;  // since `arm`
  reg [31:0] addresses, bursts;  // of writes, taken; bursts to their last beat
  reg [31:0] held;  // cycles for which the response that is offered has waited
  reg first;  // W is at a burst's first beat
  integer k;

  wire silent = mute && beats + answers >= fault_at;
  wire address_allowed = order == 2 ? bursts != addresses : 1'b1;
  wire data_allowed = order == 1 ? addresses != bursts : 1'b1;
  wire aw_pass = aw_standing || open[2], w_pass = w_standing || open[3];
  wire both = awvalid && wvalid && m_awready && m_wready && aw_pass && w_pass;
  wire aw = order == 3 ? both && first : aw_pass && address_allowed;
  wire w = order == 3 && first ? both : w_pass && data_allowed;
  wire b = (b_standing || open[4]) && held >= late && !silent;
  wire [READ_PORTS-1:0] ar = ar_standing | {READ_PORTS{open[0]}};
  wire [READ_PORTS-1:0] r = (r_standing | {READ_PORTS{open[1]}}) & ~{READ_PORTS{silent}};

  assign m_arvalid = arvalid & ar;
  assign arready = m_arready & ar;
  assign rvalid = m_rvalid & r;
  assign m_rready = rready & r;
  assign rresp[1:0] = fault == 1 && beats == fault_at ? fault_response : m_rresp[1:0];
  generate
    if (READ_PORTS > 1) begin : others
      assign rresp[READ_PORTS*2-1:2] = m_rresp[READ_PORTS*2-1:2];
    end
  endgenerate
  assign m_awvalid = awvalid && aw;
  assign awready = m_awready && aw;
  assign m_wvalid = wvalid && w;
  assign wready = m_wready && w;
  assign bvalid = m_bvalid && b;
  assign m_bready = bready && b;
  assign bresp = fault == 2 && answers == fault_at ? fault_response : m_bresp;

  wire [31:0] x1 = random ^ random << 13, x2 = x1 ^ x1 >> 17, x3 = x2 ^ x2 << 5;

  always @(posedge clk)
    if (rst) begin
      random <= 32'h2545F491;
      open <= ~0;
      {ar_standing, r_standing, aw_standing, w_standing, b_standing} <= 0;
      {beats, answers, addresses, bursts, held} <= 0;
      first <= 1;
    end else begin
      if (stalls != 0) begin
        random <= x3;
        for (k = 0; k < 5; k = k + 1) open[k] <= x3[5*k+:3] >= stalls[3*k+:3];
      end else open <= ~0;
      ar_standing <= m_arvalid & ~m_arready;
      r_standing <= rvalid & ~rready;
      aw_standing <= m_awvalid && !m_awready;
      w_standing <= m_wvalid && !m_wready;
      b_standing <= bvalid && !bready;
      beats <= arm ? 0 : beats + (rvalid[0] && rready[0]);
      answers <= arm ? 0 : answers + (bvalid && bready);
      addresses <= addresses + (awvalid && awready);
      bursts <= bursts + (wvalid && wready && wlast);
      if (wvalid && wready) first <= wlast;
      held <= m_bvalid && !(bvalid && bready) ? held + 1 : 0;
    end
endmodule
