// SPDX-FileCopyrightText: castbag contributors
// SPDX-License-Identifier: BSD-2-Clause

// Stands in for the engine in tests of the simulated device: same ports, and it only copies.
//
// A command copies `lookups` bus words from `indices` to `pooled`; with `backward` it also shows
// them on the trace port, as vectors of as many words as `dim` has quarters, targets from 0 up.
// It can misbehave, as `mode` tells:
//   1 its interrupt never comes    2 error responses are not reported
//   3 bursts ignore 4 KiB          4 WLAST comes a beat early
//   5 write bursts are of type FIXED
module castbag #(
    parameter ADDRESS_BITS = 32,
    parameter DATA_BITS = 64,
    parameter INDEX_BITS = 16
) (
    input clk,
    input rst,
    output interrupt,

    input [9:0] s_axil_awaddr,
    input [2:0] s_axil_awprot,
    input s_axil_awvalid,
    output s_axil_awready,
    input [31:0] s_axil_wdata,
    input [3:0] s_axil_wstrb,
    input s_axil_wvalid,
    output s_axil_wready,
    output [1:0] s_axil_bresp,
    output reg s_axil_bvalid,
    input s_axil_bready,
    input [9:0] s_axil_araddr,
    input [2:0] s_axil_arprot,
    input s_axil_arvalid,
    output s_axil_arready,
    output reg [31:0] s_axil_rdata,
    output [1:0] s_axil_rresp,
    output reg s_axil_rvalid,
    input s_axil_rready,

    output m_axi_arid,
    output [ADDRESS_BITS-1:0] m_axi_araddr,
    output [7:0] m_axi_arlen,
    output [2:0] m_axi_arsize,
    output [1:0] m_axi_arburst,
    output m_axi_arlock,
    output [3:0] m_axi_arcache,
    output [2:0] m_axi_arprot,
    output [3:0] m_axi_arqos,
    output m_axi_arvalid,
    input m_axi_arready,
    input m_axi_rid,
    input [DATA_BITS-1:0] m_axi_rdata,
    input [1:0] m_axi_rresp,
    input m_axi_rlast,
    input m_axi_rvalid,
    output m_axi_rready,
    output m_axi_awid,
    output [ADDRESS_BITS-1:0] m_axi_awaddr,
    output [7:0] m_axi_awlen,
    output [2:0] m_axi_awsize,
    output [1:0] m_axi_awburst,
    output m_axi_awlock,
    output [3:0] m_axi_awcache,
    output [2:0] m_axi_awprot,
    output [3:0] m_axi_awqos,
    output m_axi_awvalid,
    input m_axi_awready,
    output [DATA_BITS-1:0] m_axi_wdata,
    output [DATA_BITS/8-1:0] m_axi_wstrb,
    output m_axi_wlast,
    output m_axi_wvalid,
    input m_axi_wready,
    input m_axi_bid,
    input [1:0] m_axi_bresp,
    input m_axi_bvalid,
    output m_axi_bready,

    output trace_valid,
    output [INDEX_BITS-1:0] trace_target,
    output [DATA_BITS-1:0] trace_data,
    output trace_end,
    output [4:0] trace_active,
    output [47:0] trace_events
);
  localparam SHIFT = $clog2(DATA_BITS / 8);
  localparam IDLE = 0, FETCH = 1, FETCHING = 2, READ = 3, READING = 4, WRITE = 5, WRITING = 6,
      ANSWER = 7, STUCK = 8;
  reg [3:0] state;

  // Registers.
  reg run;
  reg [1:0] enable, events;
  reg [63:0] ring, position, spent;
  reg [15:0] size, tail, head;
  reg [3:0] error;
  assign interrupt = |(events & enable);
  assign s_axil_awready = s_axil_awvalid && s_axil_wvalid && !s_axil_bvalid;
  assign s_axil_wready = s_axil_awready;
  assign s_axil_arready = !s_axil_rvalid;
  assign s_axil_bresp = 0;
  assign s_axil_rresp = 0;

  // The command: the first 128 bytes of its descriptor hold all that counts here.
  reg [1023:0] descriptor;
  wire backward = descriptor[1];
  wire [3:0] mode = descriptor[15:12];
  wire [31:0] count = descriptor[32+:32];
  wire [31:0] dim = descriptor[96+:32];
  wire [63:0] from = descriptor[512+:64], to = descriptor[768+:64];

  // One burst at a time, through a buffer.
  reg [DATA_BITS-1:0] buffer [0:15];
  reg [31:0] copied;
  reg [4:0] beat;
  wire [63:0] source = from + (copied << SHIFT), target = to + (copied << SHIFT);
  wire [31:0] room_source = (4096 - source[11:0]) >> SHIFT;
  wire [31:0] room_target = (4096 - target[11:0]) >> SHIFT;
  wire [31:0] room = mode == 3 || room_source < room_target ? room_source : room_target;
  wire [31:0] left = count - copied;
  wire [31:0] bounded = mode != 3 && room < 16 ? room : 16;
  wire [31:0] beats = left < bounded ? left : bounded;

  assign m_axi_arvalid = state == FETCH || (state == READ && count != copied);
  assign m_axi_araddr = state == FETCH ? ring + 256 * head : source;
  assign m_axi_arlen = state == FETCH ? 1024 / DATA_BITS - 1 : beats - 1;
  assign m_axi_rready = state == FETCHING || state == READING;
  assign m_axi_awvalid = state == WRITE;
  assign m_axi_awaddr = target;
  assign m_axi_awlen = beats - 1;
  assign m_axi_wvalid = state == WRITING;
  assign m_axi_wdata = buffer[beat];
  assign m_axi_wstrb = {DATA_BITS / 8{1'b1}};
  assign m_axi_wlast = beat == beats - (mode == 4 ? 2 : 1);
  assign m_axi_bready = state == ANSWER;
  assign m_axi_arsize = SHIFT;
  assign m_axi_awsize = SHIFT;
  assign m_axi_arburst = 1;
  assign m_axi_awburst = mode == 5 ? 0 : 1;
  assign {m_axi_arid, m_axi_arlock, m_axi_arcache, m_axi_arprot, m_axi_arqos} = 0;
  assign {m_axi_awid, m_axi_awlock, m_axi_awcache, m_axi_awprot, m_axi_awqos} = 0;

  wire [31:0] place = copied + beat, words = (dim + DATA_BITS / 32 - 1) / (DATA_BITS / 32);
  assign trace_valid = state == WRITING && m_axi_wready && backward;
  assign trace_data = m_axi_wdata;
  assign trace_target = place / words;
  assign trace_end = place % words == words - 1;

  // The forward phase, and an event for each beat that its vectors read.
  assign trace_active = state != IDLE && state != STUCK;
  assign trace_events = m_axi_rready && m_axi_rvalid && state == READING ? 1 << 18 : 0;

  task finish(input [3:0] code, input [63:0] where);
    begin
      state <= mode == 1 ? STUCK : IDLE;
      head <= head == size ? 0 : head + 1;
      error <= code;
      position <= where;
      if (mode != 1) events <= events | (code != 0 ? 2'b10 : 2'b01);
    end
  endtask

  always @(posedge clk) begin
    spent <= spent + 1;
    case (state)
      IDLE: if (run && error == 0 && head != tail) begin
        state <= FETCH;
        spent <= 1;
      end
      FETCH: if (m_axi_arready) state <= FETCHING;
      FETCHING: if (m_axi_rvalid) begin
        descriptor <= {m_axi_rdata, descriptor[1023:DATA_BITS]};
        if (m_axi_rlast) begin
          state <= READ;
          copied <= 0;
          beat <= 0;
        end
      end
      READ: if (count == copied) finish(0, 0);
      else if (m_axi_arready) state <= READING;
      READING: if (m_axi_rvalid) begin
        buffer[beat] <= m_axi_rdata;
        beat <= m_axi_rlast ? 0 : beat + 1;
        if (m_axi_rlast) state <= m_axi_rresp == 0 || mode == 2 ? WRITE : IDLE;
        if (m_axi_rlast && m_axi_rresp != 0 && mode != 2) finish(7, source);
      end
      WRITE: if (m_axi_awready) state <= WRITING;
      WRITING: if (m_axi_wready) begin
        beat <= m_axi_wlast ? 0 : beat + 1;
        if (m_axi_wlast) state <= ANSWER;
      end
      ANSWER: if (m_axi_bvalid) begin
        copied <= copied + beats;
        if (m_axi_bresp == 0 || mode == 2) state <= READ;
        else finish(8, target);
      end
    endcase

    if (s_axil_bready) s_axil_bvalid <= 0;
    if (s_axil_awready) begin
      s_axil_bvalid <= 1;
      case (s_axil_awaddr)
        'h24: run <= s_axil_wdata;
        'h2C: enable <= s_axil_wdata;
        'h30: events <= events & ~s_axil_wdata;
        'h34: ring[31:0] <= s_axil_wdata;
        'h38: ring[63:32] <= s_axil_wdata;
        'h3C: size <= s_axil_wdata;
        'h40: tail <= s_axil_wdata;
        'h48: error <= 0;
      endcase
    end
    if (s_axil_rready) s_axil_rvalid <= 0;
    if (s_axil_arvalid && s_axil_arready) begin
      s_axil_rvalid <= 1;
      case (s_axil_araddr)
        'h00: s_axil_rdata <= 32'h43424147;
        'h44: s_axil_rdata <= head;
        'h48: s_axil_rdata <= error;
        'h4C: s_axil_rdata <= position[31:0];
        'h50: s_axil_rdata <= position[63:32];
        'h200: s_axil_rdata <= spent[31:0];
        'h208: s_axil_rdata <= 32'h89ABCDEF;  // a wide one, to see its halves
        'h20C: s_axil_rdata <= 32'h01234567;
        default: s_axil_rdata <= 0;
      endcase
    end
    if (rst) begin
      state <= IDLE;
      {run, enable, events, ring, size, tail, head, error} <= 0;
      s_axil_bvalid <= 0;
      s_axil_rvalid <= 0;
    end
  end
endmodule
