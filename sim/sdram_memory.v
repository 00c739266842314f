// SPDX-FileCopyrightText: castbag contributors
// SPDX-License-Identifier: BSD-2-Clause

// An SDR SDRAM chip behind its controller: what memory.v imitates, with memory.v's ports.
//
// Module `sdram` is the controller with plain pads, written by castbag.sim.sdram; the parameters are
// the chip's. Once `rst` has brought the chip up it is the controller's no more, unless `again` is
// 1: whoever resets all else between two runs finds a memory that is ready. Meanwhile nothing is
// taken.
module sdram_memory #(
    parameter ROW_BITS = 13,
    parameter COLUMN_BITS = 9,
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
    parameter REFRESHES = 2,
    parameter DELAY = 0,
    parameter KEPT_ROW_BITS = ROW_BITS
) (
    input clk,
    input rst,
    input again,
    input [3:0] phase,
    output ready,
    input [63:0] bytes,  // not looked at: the chip's capacity counts
    output reg [63:0] beats_read,
    output reg [63:0] beats_written,

    input [31:0] word,
    input poke,
    input [63:0] poke_data,
    output [63:0] peek_data,
    output [7:0] broken,
    output [63:0] broken_clock,
    output [31:0] activates,
    output [31:0] column_reads,
    output [31:0] column_writes,
    output [31:0] refreshes,

    input s_axi_arid,
    input [31:0] s_axi_araddr,
    input [7:0] s_axi_arlen,
    input [2:0] s_axi_arsize,
    input [1:0] s_axi_arburst,
    input s_axi_arlock,
    input [3:0] s_axi_arcache,
    input [2:0] s_axi_arprot,
    input [3:0] s_axi_arqos,
    input s_axi_arvalid,
    output s_axi_arready,
    output s_axi_rid,
    output [63:0] s_axi_rdata,
    output [1:0] s_axi_rresp,
    output s_axi_rlast,
    output s_axi_rvalid,
    input s_axi_rready,

    input s_axi_awid,
    input [31:0] s_axi_awaddr,
    input [7:0] s_axi_awlen,
    input [2:0] s_axi_awsize,
    input [1:0] s_axi_awburst,
    input s_axi_awlock,
    input [3:0] s_axi_awcache,
    input [2:0] s_axi_awprot,
    input [3:0] s_axi_awqos,
    input s_axi_awvalid,
    output s_axi_awready,
    input [63:0] s_axi_wdata,
    input [7:0] s_axi_wstrb,
    input s_axi_wlast,
    input s_axi_wvalid,
    output s_axi_wready,
    output s_axi_bid,
    output [1:0] s_axi_bresp,
    output s_axi_bvalid,
    input s_axi_bready
);
  wire cke, cs, ras, cas, we, dq_oe;
  wire [1:0] ba, dqm;
  wire [ROW_BITS-1:0] a;
  wire [15:0] dq_o, dq_i;

  reg up;
  initial up = 0;
  always @(posedge clk) if (ready) up <= 1;

  sdram controller (
      .clk(clk), .rst(rst && (again || !up)), .phase(phase), .ready(ready),
      .cke(cke), .cs(cs), .ras(ras), .cas(cas), .we(we), .ba(ba), .a(a), .dqm(dqm),
      .dq_o(dq_o), .dq_oe(dq_oe), .dq_i(dq_i),
      .read__arid(s_axi_arid), .read__araddr(s_axi_araddr), .read__arlen(s_axi_arlen),
      .read__arsize(s_axi_arsize), .read__arburst(s_axi_arburst), .read__arlock(s_axi_arlock),
      .read__arcache(s_axi_arcache), .read__arprot(s_axi_arprot), .read__arqos(s_axi_arqos),
      .read__arvalid(s_axi_arvalid && !rst), .read__arready(s_axi_arready), .read__rid(s_axi_rid),
      .read__rdata(s_axi_rdata), .read__rresp(s_axi_rresp), .read__rlast(s_axi_rlast),
      .read__rvalid(s_axi_rvalid), .read__rready(s_axi_rready),
      .write__awid(s_axi_awid), .write__awaddr(s_axi_awaddr), .write__awlen(s_axi_awlen),
      .write__awsize(s_axi_awsize), .write__awburst(s_axi_awburst), .write__awlock(s_axi_awlock),
      .write__awcache(s_axi_awcache), .write__awprot(s_axi_awprot), .write__awqos(s_axi_awqos),
      .write__awvalid(s_axi_awvalid && !rst), .write__awready(s_axi_awready), .write__wdata(s_axi_wdata),
      .write__wstrb(s_axi_wstrb), .write__wlast(s_axi_wlast), .write__wvalid(s_axi_wvalid && !rst),
      .write__wready(s_axi_wready), .write__bid(s_axi_bid), .write__bresp(s_axi_bresp),
      .write__bvalid(s_axi_bvalid), .write__bready(s_axi_bready)
  );

  wire [2:0] delay = DELAY;

  sdram_chip #(
      .ROW_BITS(ROW_BITS), .COLUMN_BITS(COLUMN_BITS), .CL(CL), .T_RCD(T_RCD), .T_RP(T_RP),
      .T_RAS(T_RAS), .T_RC(T_RC), .T_RRD(T_RRD), .T_RFC(T_RFC), .T_WR(T_WR), .T_MRD(T_MRD),
      .POWER_UP(POWER_UP), .REFRESH(REFRESH), .REFRESHES(REFRESHES),
      .KEPT_ROW_BITS(KEPT_ROW_BITS)
  ) chip (
      .clk(clk), .cke(cke), .cs(cs), .ras(ras), .cas(cas), .we(we), .ba(ba), .a(a), .dqm(dqm),
      .dq_i(dq_o), .dq_oe(dq_oe), .delay(delay), .dq_o(dq_i),
      .word(word), .poke(poke), .poke_data(poke_data), .peek_data(peek_data),
      .broken(broken), .broken_clock(broken_clock), .activates(activates),
      .column_reads(column_reads), .column_writes(column_writes), .refreshes(refreshes)
  );

  initial begin
    beats_read = 0;
    beats_written = 0;
  end
  always @(posedge clk) begin
    if (s_axi_rvalid && s_axi_rready) beats_read <= beats_read + 1;
    if (s_axi_wvalid && s_axi_wready) beats_written <= beats_written + 1;
  end
endmodule
