// SPDX-FileCopyrightText: castbag contributors
// SPDX-License-Identifier: BSD-2-Clause

// A whole board: its FPGA's design up to the pins, and the chip of SDRAM that hangs on them.
module board #(
    parameter ROW_BITS = 13,
    parameter COLUMN_BITS = 9,
    parameter KEPT_ROW_BITS = 13,
    parameter CL = 2,
    parameter T_RCD = 2,
    parameter T_RP = 2,
    parameter T_RAS = 4,
    parameter T_RC = 6,
    parameter T_RRD = 2,
    parameter T_RFC = 7,
    parameter T_WR = 2,
    parameter T_MRD = 2,
    parameter POWER_UP = 10000,
    parameter REFRESH = 781,
    parameter REFRESHES = 2
) (
    input clk,
    input rst,
    input rx,
    output tx,
    input button,
    output [3:0] lights,  // heartbeat, tested, running, error
    input [2:0] delay,  // half clocks by which the chip's data come late
    input damaged,  // the chip's lowest data pin is stuck at 1
    output [7:0] broken,
    output [63:0] broken_clock
);
  wire cke, cs, ras, cas, we, dq_oe;
  wire [1:0] ba, dqm;
  wire [ROW_BITS-1:0] a;
  wire [15:0] dq_to_chip, dq_from_chip;

  board_system system (
      .clk(clk),
      .rst(rst),
      .rx(rx),
      .tx(tx),
      .button(button),
      .heartbeat(lights[0]),
      .tested(lights[1]),
      .running(lights[2]),
      .error(lights[3]),
      .cke(cke),
      .cs(cs),
      .ras(ras),
      .cas(cas),
      .we(we),
      .ba(ba),
      .a(a),
      .dqm(dqm),
      .dq_o(dq_to_chip),
      .dq_oe(dq_oe),
      .dq_i(dq_from_chip | {15'b0, damaged})
  );

  sdram_chip #(
      .ROW_BITS(ROW_BITS),
      .COLUMN_BITS(COLUMN_BITS),
      .KEPT_ROW_BITS(KEPT_ROW_BITS),
      .CL(CL),
      .T_RCD(T_RCD),
      .T_RP(T_RP),
      .T_RAS(T_RAS),
      .T_RC(T_RC),
      .T_RRD(T_RRD),
      .T_RFC(T_RFC),
      .T_WR(T_WR),
      .T_MRD(T_MRD),
      .POWER_UP(POWER_UP),
      .REFRESH(REFRESH),
      .REFRESHES(REFRESHES)
  ) chip (
      .clk(clk),
      .cke(cke),
      .cs(cs),
      .ras(ras),
      .cas(cas),
      .we(we),
      .ba(ba),
      .a(a),
      .dqm(dqm),
      .dq_i(dq_to_chip),
      .dq_oe(dq_oe),
      .delay(delay),
      .dq_o(dq_from_chip),
      .word(32'b0),
      .poke(1'b0),
      .poke_data(64'b0),
      .peek_data(),
      .broken(broken),
      .broken_clock(broken_clock),
      .activates(),
      .column_reads(),
      .column_writes(),
      .refreshes()
  );
endmodule
