// SPDX-FileCopyrightText: castbag contributors
// SPDX-License-Identifier: BSD-2-Clause

// A bad day for an AXI4 manager: stands between it and its memory, and does what AXI allows.
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
    parameter ADDRESS_BITS = 32,
    parameter DATA_BITS = 64
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
    input arvalid,
    output arready,
    output rvalid,
    input rready,
    output [1:0] rresp,
    input awvalid,
    output awready,
    input wvalid,
    output wready,
    input wlast,
    output bvalid,
    input bready,
    output [1:0] bresp,
    output m_arvalid,
    input m_arready,
    input m_rvalid,
    output m_rready,
    input [1:0] m_rresp,
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
  reg [4:0] standing;  // what was passed on and not taken stays
  reg [31:0] beats, answers;  // since `arm`
  reg [31:0] addresses, bursts;  // of writes, taken; bursts to their last beat
  reg [31:0] held;  // cycles for which the response that is offered has waited
  reg first;  // W is at a burst's first beat
  integer k;

  wire silent = mute && beats + answers >= fault_at;
  wire [4:0] pass = standing | open;
  wire address_allowed = order == 2 ? bursts != addresses : 1'b1;
  wire data_allowed = order == 1 ? addresses != bursts : 1'b1;
  wire both = awvalid && wvalid && m_awready && m_wready && pass[2] && pass[3];
  wire aw = order == 3 ? both && first : pass[2] && address_allowed;
  wire w = order == 3 && first ? both : pass[3] && data_allowed;
  wire b = pass[4] && held >= late && !silent;
  wire r = pass[1] && !silent;

  assign m_arvalid = arvalid && pass[0];
  assign arready = m_arready && pass[0];
  assign rvalid = m_rvalid && r;
  assign m_rready = rready && r;
  assign rresp = fault == 1 && beats == fault_at ? fault_response : m_rresp;
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
      standing <= 0;
      {beats, answers, addresses, bursts, held} <= 0;
      first <= 1;
    end else begin
      if (stalls != 0) begin
        random <= x3;
        for (k = 0; k < 5; k = k + 1) open[k] <= x3[5*k+:3] >= stalls[3*k+:3];
      end else open <= ~0;
      standing <= {
        bvalid && !bready, m_wvalid && !m_wready, m_awvalid && !m_awready,
        rvalid && !rready, m_arvalid && !m_arready
      };
      beats <= arm ? 0 : beats + (rvalid && rready);
      answers <= arm ? 0 : answers + (bvalid && bready);
      addresses <= addresses + (awvalid && awready);
      bursts <= bursts + (wvalid && wready && wlast);
      if (wvalid && wready) first <= wlast;
      held <= m_bvalid && !(bvalid && bready) ? held + 1 : 0;
    end
endmodule
