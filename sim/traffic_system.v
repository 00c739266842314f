// SPDX-FileCopyrightText: castbag contributors
// SPDX-License-Identifier: BSD-2-Clause

// A memory under `PORTS` traffic generators: clock, generators, memory, the watch on each port.
//
// The macro MEMORY names the memory's module, with its parameters, and MORE is what is connected
// beyond: castbag.host.bench.traffic defines both. The module has the ports of memory.v; where it has several slave ports, each s_axi_
// port holds all of them side by side, slave port 0 in the low bits.
//
// Inputs are to change on the clock's falling edge. `cycles`, `beats_read`, `beats_written` and
// `wrong` hold 32 bits a port, `broken` 4; meanings as in traffic.v and axi_rules.v.
module traffic_system #(
    parameter ADDRESS_BITS = 32,
    parameter DATA_BITS = 128,
    parameter PORTS = 1
) (
    output reg clk,
    input rst,
    input [63:0] memory_bytes,

    input start,
    input random,
    input reads,
    input writes,
    input [31:0] row_bytes,
    input [31:0] rows,
    input [31:0] table_rows,
    input [31:0] outstanding,

    output done,
    output [32*PORTS-1:0] cycles,
    output [32*PORTS-1:0] beats_read,
    output [32*PORTS-1:0] beats_written,
    output [32*PORTS-1:0] wrong,
    output [4*PORTS-1:0] broken
);
  initial clk = 0;
  always #5 clk = ~clk;

  wire [PORTS-1:0] arid, arlock, arvalid, arready, rid, rlast, rvalid, rready;
  wire [PORTS-1:0] awid, awlock, awvalid, awready, wlast, wvalid, wready, bid, bvalid, bready;
  wire [PORTS*ADDRESS_BITS-1:0] araddr, awaddr;
  wire [PORTS*8-1:0] arlen, awlen;
  wire [PORTS*3-1:0] arsize, awsize, arprot, awprot;
  wire [PORTS*2-1:0] arburst, awburst, rresp, bresp;
  wire [PORTS*4-1:0] arcache, awcache, arqos, awqos;
  wire [PORTS*DATA_BITS-1:0] rdata, wdata;
  wire [PORTS*DATA_BITS/8-1:0] wstrb;
  wire [PORTS-1:0] finished;
  assign done = &finished;

  genvar p;
  generate
    for (p = 0; p < PORTS; p = p + 1) begin : port
      traffic #(
          .ADDRESS_BITS(ADDRESS_BITS), .DATA_BITS(DATA_BITS), .PORT(p), .PORTS(PORTS)
      ) traffic (
          .clk(clk), .rst(rst), .start(start), .random(random), .reads(reads), .writes(writes),
          .row_bytes(row_bytes), .rows(rows), .table_rows(table_rows), .outstanding(outstanding),
          .done(finished[p]), .cycles(cycles[32*p+:32]), .beats_read(beats_read[32*p+:32]),
          .beats_written(beats_written[32*p+:32]), .wrong(wrong[32*p+:32]),
          .m_axi_arid(arid[p]), .m_axi_araddr(araddr[ADDRESS_BITS*p+:ADDRESS_BITS]),
          .m_axi_arlen(arlen[8*p+:8]), .m_axi_arsize(arsize[3*p+:3]),
          .m_axi_arburst(arburst[2*p+:2]), .m_axi_arlock(arlock[p]),
          .m_axi_arcache(arcache[4*p+:4]), .m_axi_arprot(arprot[3*p+:3]),
          .m_axi_arqos(arqos[4*p+:4]), .m_axi_arvalid(arvalid[p]), .m_axi_arready(arready[p]),
          .m_axi_rid(rid[p]), .m_axi_rdata(rdata[DATA_BITS*p+:DATA_BITS]),
          .m_axi_rresp(rresp[2*p+:2]), .m_axi_rlast(rlast[p]), .m_axi_rvalid(rvalid[p]),
          .m_axi_rready(rready[p]),
          .m_axi_awid(awid[p]), .m_axi_awaddr(awaddr[ADDRESS_BITS*p+:ADDRESS_BITS]),
          .m_axi_awlen(awlen[8*p+:8]), .m_axi_awsize(awsize[3*p+:3]),
          .m_axi_awburst(awburst[2*p+:2]), .m_axi_awlock(awlock[p]),
          .m_axi_awcache(awcache[4*p+:4]), .m_axi_awprot(awprot[3*p+:3]),
          .m_axi_awqos(awqos[4*p+:4]), .m_axi_awvalid(awvalid[p]), .m_axi_awready(awready[p]),
          .m_axi_wdata(wdata[DATA_BITS*p+:DATA_BITS]),
          .m_axi_wstrb(wstrb[DATA_BITS/8*p+:DATA_BITS/8]), .m_axi_wlast(wlast[p]),
          .m_axi_wvalid(wvalid[p]), .m_axi_wready(wready[p]), .m_axi_bid(bid[p]),
          .m_axi_bresp(bresp[2*p+:2]), .m_axi_bvalid(bvalid[p]), .m_axi_bready(bready[p])
      );

      axi_rules #(
          .ADDRESS_BITS(ADDRESS_BITS), .DATA_BITS(DATA_BITS)
      ) rules (
          .clk(clk), .rst(rst), .clear(1'b0), .bytes(memory_bytes),
          .broken(broken[4*p+:4]), .address(), .outside(), .outside_address(),
          .araddr(araddr[ADDRESS_BITS*p+:ADDRESS_BITS]), .arlen(arlen[8*p+:8]),
          .arsize(arsize[3*p+:3]), .arburst(arburst[2*p+:2]), .arid(arid[p]),
          .arvalid(arvalid[p]), .arready(arready[p]),
          .awaddr(awaddr[ADDRESS_BITS*p+:ADDRESS_BITS]), .awlen(awlen[8*p+:8]),
          .awsize(awsize[3*p+:3]), .awburst(awburst[2*p+:2]), .awid(awid[p]),
          .awvalid(awvalid[p]), .awready(awready[p]),
          .wdata(wdata[DATA_BITS*p+:DATA_BITS]),
          .wstrb(wstrb[DATA_BITS/8*p+:DATA_BITS/8]), .wlast(wlast[p]),
          .wvalid(wvalid[p]), .wready(wready[p])
      );
    end
  endgenerate

  `MEMORY memory (
      `MORE .clk(clk), .rst(rst), .bytes(memory_bytes), .beats_read(), .beats_written(),
      .s_axi_arid(arid), .s_axi_araddr(araddr), .s_axi_arlen(arlen), .s_axi_arsize(arsize),
      .s_axi_arburst(arburst), .s_axi_arlock(arlock), .s_axi_arcache(arcache),
      .s_axi_arprot(arprot), .s_axi_arqos(arqos), .s_axi_arvalid(arvalid),
      .s_axi_arready(arready), .s_axi_rid(rid), .s_axi_rdata(rdata), .s_axi_rresp(rresp),
      .s_axi_rlast(rlast), .s_axi_rvalid(rvalid), .s_axi_rready(rready),
      .s_axi_awid(awid), .s_axi_awaddr(awaddr), .s_axi_awlen(awlen), .s_axi_awsize(awsize),
      .s_axi_awburst(awburst), .s_axi_awlock(awlock), .s_axi_awcache(awcache),
      .s_axi_awprot(awprot), .s_axi_awqos(awqos), .s_axi_awvalid(awvalid),
      .s_axi_awready(awready), .s_axi_wdata(wdata), .s_axi_wstrb(wstrb), .s_axi_wlast(wlast),
      .s_axi_wvalid(wvalid), .s_axi_wready(wready), .s_axi_bid(bid), .s_axi_bresp(bresp),
      .s_axi_bvalid(bvalid), .s_axi_bready(bready)
  );
endmodule
