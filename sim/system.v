// SPDX-FileCopyrightText: castbag contributors
// SPDX-License-Identifier: BSD-2-Clause

// A whole simulated device: clock, engine, memory, what can go wrong between them, the watch on
// the bus, and the records of what passes.
//
// Nothing here is driven once a cycle from outside: castbag.sim.session loads memory by the back
// door, writes registers, and sleeps until `interrupt` or `broken`. Inputs are to change on the
// clock's falling edge.
module system #(
    parameter ADDRESS_BITS = 32,
    parameter DATA_BITS = 64,
    parameter INDEX_BITS = 16,  // of the trace port's target
    parameter SIZE_BITS = 16,
    parameter READ_PORTS = 1,
    parameter REGIONS = 24,
    parameter PHASES = 5,
    parameter EVENTS = 48,
    parameter LOOKUP_EVENT = 0
) (
    output reg clk,
    input rst,
    input [63:0] memory_bytes,
    output interrupt,

    // On the rising edge of `backdoor`: 0 fills memory with noise; 1 loads `backdoor_words` from
    // word `backdoor_first` on, out of the file load_<backdoor_file>.bin; 2 dumps them to
    // dump_<backdoor_file>.bin; 3 allocates them, 4 forgets all that was allocated.
    input backdoor,
    input [2:0] backdoor_action,
    input [31:0] backdoor_file,
    input [31:0] backdoor_first,
    input [31:0] backdoor_words,

    // Counted since time 0.
    output [63:0] beats_read,
    output [63:0] beats_written,
    output [31:0] traced,  // records of trace.bin
    output [31:0] sampled,  // of samples.bin
    output [31:0] requested,  // of requests.bin
    output [63:0] looked_up,  // events of number LOOKUP_EVENT
    input record,  // write the latter

    // See faults.v.
    input [14:0] stalls,
    input [1:0] order,
    input [15:0] late,
    input [1:0] fault,
    input [31:0] fault_at,
    input [1:0] fault_response,
    input mute,
    input arm,

    output reg [3:0] broken,
    output reg [63:0] broken_address,
    output [7:0] dram_broken,
    output [63:0] dram_broken_clock,
    output reg outside,
    output reg [63:0] outside_address,
    input outside_clear,

    input [9:0] s_axil_awaddr,
    input s_axil_awvalid,
    output s_axil_awready,
    input [31:0] s_axil_wdata,
    input s_axil_wvalid,
    output s_axil_wready,
    output [1:0] s_axil_bresp,
    output s_axil_bvalid,
    input s_axil_bready,
    input [9:0] s_axil_araddr,
    input s_axil_arvalid,
    output s_axil_arready,
    output [31:0] s_axil_rdata,
    output [1:0] s_axil_rresp,
    output s_axil_rvalid,
    input s_axil_rready
);
  initial clk = 0;
  always #5 clk = ~clk;

  // Inputs that more than a back door depends on; see held.v.
  wire held_rst, held_record, held_mute, held_arm, held_outside_clear, held_s_axil_awvalid,
      held_s_axil_wvalid, held_s_axil_bready, held_s_axil_arvalid, held_s_axil_rready;
  wire [63:0] held_memory_bytes;
  wire [14:0] held_stalls;
  wire [1:0] held_order, held_fault, held_fault_response;
  wire [15:0] held_late;
  wire [31:0] held_fault_at, held_s_axil_wdata;
  wire [9:0] held_s_axil_awaddr, held_s_axil_araddr;
  held #(
      .WIDTH(195)
  ) inputs (
      .now({
        rst, memory_bytes, record, stalls, order, late, fault, fault_at, fault_response, mute,
        arm, outside_clear, s_axil_awaddr, s_axil_awvalid, s_axil_wdata, s_axil_wvalid,
        s_axil_bready, s_axil_araddr, s_axil_arvalid, s_axil_rready
      }),
      .steady({
        held_rst, held_memory_bytes, held_record, held_stalls, held_order, held_late,
        held_fault, held_fault_at, held_fault_response, held_mute, held_arm, held_outside_clear,
        held_s_axil_awaddr, held_s_axil_awvalid, held_s_axil_wdata, held_s_axil_wvalid,
        held_s_axil_bready, held_s_axil_araddr, held_s_axil_arvalid, held_s_axil_rready
      })
  );

  // The read ports lie side by side, port 0 lowest.
  wire [READ_PORTS-1:0] arid, arlock, arvalid, arready, rid, rlast, rvalid, rready;
  wire [READ_PORTS*ADDRESS_BITS-1:0] araddr;
  wire [READ_PORTS*8-1:0] arlen;
  wire [READ_PORTS*3-1:0] arsize, arprot;
  wire [READ_PORTS*2-1:0] arburst, rresp;
  wire [READ_PORTS*4-1:0] arcache, arqos;
  wire [READ_PORTS*DATA_BITS-1:0] rdata;
  wire awid, awlock, awvalid, awready, wlast, wvalid, wready, bid, bvalid, bready;
  wire [ADDRESS_BITS-1:0] awaddr;
  wire [7:0] awlen;
  wire [2:0] awsize, awprot;
  wire [1:0] awburst, bresp;
  wire [3:0] awcache, awqos;
  wire [DATA_BITS-1:0] wdata;
  wire [DATA_BITS/8-1:0] wstrb;

  // Handshakes on the memory's side of faults.v.
  wire [READ_PORTS-1:0] m_arvalid, m_arready, m_rvalid, m_rready;
  wire m_awvalid, m_awready, m_wvalid, m_wready, m_bvalid, m_bready;
  wire [READ_PORTS*2-1:0] m_rresp;
  wire [1:0] m_bresp;

  wire trace_valid, trace_end;
  wire [PHASES-1:0] trace_active;
  wire [EVENTS-1:0] trace_events;
  wire [INDEX_BITS-1:0] trace_target;
  wire [DATA_BITS-1:0] trace_data;

  castbag engine (
      .clk(clk), .rst(held_rst), .interrupt(interrupt),
      .s_axil_awaddr(held_s_axil_awaddr), .s_axil_awprot(3'b000), .s_axil_awvalid(held_s_axil_awvalid),
      .s_axil_awready(s_axil_awready), .s_axil_wdata(held_s_axil_wdata), .s_axil_wstrb(4'b1111),
      .s_axil_wvalid(held_s_axil_wvalid), .s_axil_wready(s_axil_wready), .s_axil_bresp(s_axil_bresp),
      .s_axil_bvalid(s_axil_bvalid), .s_axil_bready(held_s_axil_bready),
      .s_axil_araddr(held_s_axil_araddr), .s_axil_arprot(3'b000), .s_axil_arvalid(held_s_axil_arvalid),
      .s_axil_arready(s_axil_arready), .s_axil_rdata(s_axil_rdata), .s_axil_rresp(s_axil_rresp),
      .s_axil_rvalid(s_axil_rvalid), .s_axil_rready(held_s_axil_rready),
      `include "read_ports.vh"  // made by castbag.sim.device: .m_axi_arid(arid[0]), ...
      .m_axi_awid(awid), .m_axi_awaddr(awaddr), .m_axi_awlen(awlen), .m_axi_awsize(awsize),
      .m_axi_awburst(awburst), .m_axi_awlock(awlock), .m_axi_awcache(awcache),
      .m_axi_awprot(awprot), .m_axi_awqos(awqos), .m_axi_awvalid(awvalid),
      .m_axi_awready(awready), .m_axi_wdata(wdata), .m_axi_wstrb(wstrb), .m_axi_wlast(wlast),
      .m_axi_wvalid(wvalid), .m_axi_wready(wready), .m_axi_bid(bid), .m_axi_bresp(bresp),
      .m_axi_bvalid(bvalid), .m_axi_bready(bready),
      .trace_valid(trace_valid), .trace_target(trace_target), .trace_data(trace_data),
      .trace_end(trace_end), .trace_active(trace_active), .trace_events(trace_events)
  );

  faults #(
      .READ_PORTS(READ_PORTS)
  ) faults (
      .clk(clk), .rst(held_rst), .stalls(held_stalls), .order(held_order), .late(held_late), .fault(held_fault),
      .fault_at(held_fault_at), .fault_response(held_fault_response), .mute(held_mute), .arm(held_arm),
      .arvalid(arvalid), .arready(arready), .rvalid(rvalid), .rready(rready), .rresp(rresp),
      .awvalid(awvalid), .awready(awready), .wvalid(wvalid), .wready(wready), .wlast(wlast),
      .bvalid(bvalid), .bready(bready), .bresp(bresp),
      .m_arvalid(m_arvalid), .m_arready(m_arready), .m_rvalid(m_rvalid), .m_rready(m_rready),
      .m_rresp(m_rresp), .m_awvalid(m_awvalid), .m_awready(m_awready), .m_wvalid(m_wvalid),
      .m_wready(m_wready), .m_bvalid(m_bvalid), .m_bready(m_bready), .m_bresp(m_bresp)
  );

  memory #(
      .ADDRESS_BITS(ADDRESS_BITS), .DATA_BITS(DATA_BITS), .SIZE_BITS(SIZE_BITS),
      .READ_PORTS(READ_PORTS), .REGIONS(REGIONS)
  ) memory (
      .clk(clk), .rst(held_rst), .bytes(held_memory_bytes), .haste(8'd0),
      .beats_read(beats_read), .beats_written(beats_written),
      .broken(dram_broken), .broken_clock(dram_broken_clock),
      .s_axi_arid(arid), .s_axi_araddr(araddr), .s_axi_arlen(arlen), .s_axi_arsize(arsize),
      .s_axi_arburst(arburst), .s_axi_arlock(arlock), .s_axi_arcache(arcache),
      .s_axi_arprot(arprot), .s_axi_arqos(arqos), .s_axi_arvalid(m_arvalid),
      .s_axi_arready(m_arready), .s_axi_rid(rid), .s_axi_rdata(rdata), .s_axi_rresp(m_rresp),
      .s_axi_rlast(rlast), .s_axi_rvalid(m_rvalid), .s_axi_rready(m_rready),
      .s_axi_awid(awid), .s_axi_awaddr(awaddr), .s_axi_awlen(awlen), .s_axi_awsize(awsize),
      .s_axi_awburst(awburst), .s_axi_awlock(awlock), .s_axi_awcache(awcache),
      .s_axi_awprot(awprot), .s_axi_awqos(awqos), .s_axi_awvalid(m_awvalid),
      .s_axi_awready(m_awready), .s_axi_wdata(wdata), .s_axi_wstrb(wstrb), .s_axi_wlast(wlast),
      .s_axi_wvalid(m_wvalid), .s_axi_wready(m_wready), .s_axi_bid(bid), .s_axi_bresp(m_bresp),
      .s_axi_bvalid(m_bvalid), .s_axi_bready(m_bready)
  );

  // A watch on each read port; the first one has the writes, too.
  wire [4*READ_PORTS-1:0] port_broken;
  wire [64*READ_PORTS-1:0] port_address, port_outside_address;
  wire [READ_PORTS-1:0] port_outside;
  genvar p;
  generate
    for (p = 0; p < READ_PORTS; p = p + 1) begin : port
      axi_rules #(
          .ADDRESS_BITS(ADDRESS_BITS), .DATA_BITS(DATA_BITS)
      ) rules (
          .clk(clk), .rst(held_rst), .clear(held_outside_clear), .bytes(held_memory_bytes),
          .broken(port_broken[4*p+:4]), .address(port_address[64*p+:64]),
          .outside(port_outside[p]), .outside_address(port_outside_address[64*p+:64]),
          .araddr(araddr[ADDRESS_BITS*p+:ADDRESS_BITS]), .arlen(arlen[8*p+:8]),
          .arsize(arsize[3*p+:3]), .arburst(arburst[2*p+:2]), .arid(arid[p]),
          .arvalid(arvalid[p]), .arready(arready[p]),
          .awaddr(awaddr), .awlen(awlen), .awsize(awsize), .awburst(awburst), .awid(awid),
          .awvalid(awvalid && p == 0), .awready(awready),
          .wdata(wdata), .wstrb(wstrb), .wlast(wlast), .wvalid(wvalid && p == 0), .wready(wready)
      );
    end
  endgenerate
  reg [31:0] k;
  always @* begin
    {broken, broken_address, outside, outside_address} = 0;
    for (k = 0; k < READ_PORTS; k = k + 1) begin
      if (broken == 0 && port_broken[4*k+:4] != 0) begin
        broken = port_broken[4*k+:4];
        broken_address = port_address[64*k+:64];
      end
      if (!outside && port_outside[k]) begin
        outside = 1;
        outside_address = port_outside_address[64*k+:64];
      end
    end
  end

  records #(
      .ADDRESS_BITS(ADDRESS_BITS), .DATA_BITS(DATA_BITS), .INDEX_BITS(INDEX_BITS),
      .PHASES(PHASES), .EVENTS(EVENTS), .READ_PORTS(READ_PORTS), .LOOKUP_EVENT(LOOKUP_EVENT)
  ) records (
      .clk(clk), .rst(held_rst), .active(trace_active), .events(trace_events),
      .trace_valid(trace_valid), .trace_target(trace_target), .trace_data(trace_data),
      .trace_end(trace_end), .record(held_record),
      .araddr(araddr), .arlen(arlen), .arvalid(arvalid), .arready(arready), .rvalid(rvalid),
      .rready(rready), .awaddr(awaddr), .awlen(awlen), .awvalid(awvalid), .awready(awready),
      .wvalid(wvalid), .wready(wready), .dram(memory.dram_counts),
      .traced(traced), .sampled(sampled), .requested(requested), .looked_up(looked_up)
  );

  reg [8*32-1:0] name;
  always @(posedge backdoor)
    case (backdoor_action)
      0: memory.storage.fill(held_memory_bytes);
      1: begin
        $sformat(name, "load_%0d.bin", backdoor_file);
        memory.storage.load(name, backdoor_first, backdoor_words);
      end
      2: begin
        $sformat(name, "dump_%0d.bin", backdoor_file);
        memory.storage.dump(name, backdoor_first, backdoor_words);
      end
      3: memory.storage.allocate(backdoor_first, backdoor_words);
      default: memory.storage.regions = 0;
    endcase
endmodule
