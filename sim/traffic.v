// SPDX-FileCopyrightText: castbag contributors
// SPDX-License-Identifier: BSD-2-Clause

// An AXI4 manager that fetches rows of a table as fast as it is let, and times itself.
//
// A run touches rows 0 to `rows` - 1 of a sequence that is the same on every memory:
//
//   - `random` = 0: row n of the sequence is row n of the table (modulo `table_rows`);
//   - `random` = 1: row n is scatter(n) * table_rows / 2**32, evenly spread, with repeats.
//
// Of N ports, each with a generator of its own, port k takes rows k, k + N, k + 2 N and so on.
// A row lies at its number times `row_bytes`; it is asked for in INCR bursts of at most 16 beats
// that do not cross 4 KiB, in rising order, one burst a cycle, at most `outstanding` at a time.
//
//   - `reads` alone: a burst counts as outstanding until its last beat has come.
//   - `reads` and `writes`: the burst is written back once all of it has come, to where it was
//     read, and counts as outstanding until that is answered.
//   - `writes` alone: as above, with nothing to wait for. It lays out the table.
//
// Data always are accepted at once. W does not wait for AW, which AXI4 allows: a burst's data are
// offered as soon as it may be written. What is written is content(word), what memory.v's `fill`
// lays out too; `wrong` counts beats read that were anything else, and answers that were not OKAY.
//
// `cycles` counts from the first cycle that offers an address to the one that transfers the last
// beat of R or answer of B, both included; it, the beats and `wrong` stand once `done` is 1.
// Inputs stand from `start` = 1 on until `rst`, which makes it all ready for another run.
module traffic #(
    parameter ADDRESS_BITS = 32,
    parameter DATA_BITS = 128,
    parameter PORT = 0,
    parameter PORTS = 1,
    parameter SLOTS = 64  // the most that `outstanding` may be
) (
    input clk,
    input rst,

    input start,
    input random,
    input reads,
    input writes,
    input [31:0] row_bytes,  // a multiple of the bus word
    input [31:0] rows,
    input [31:0] table_rows,
    input [31:0] outstanding,

    output done,
    output reg [31:0] cycles,
    output reg [31:0] beats_read,
    output reg [31:0] beats_written,
    output reg [31:0] wrong,

    output m_axi_arid,
    output reg [ADDRESS_BITS-1:0] m_axi_araddr,
    output reg [7:0] m_axi_arlen,
    output [2:0] m_axi_arsize,
    output [1:0] m_axi_arburst,
    output m_axi_arlock,
    output [3:0] m_axi_arcache,
    output [2:0] m_axi_arprot,
    output [3:0] m_axi_arqos,
    output reg m_axi_arvalid,
    input m_axi_arready,
    input m_axi_rid,
    input [DATA_BITS-1:0] m_axi_rdata,
    input [1:0] m_axi_rresp,
    input m_axi_rlast,
    input m_axi_rvalid,
    output m_axi_rready,

    output m_axi_awid,
    output reg [ADDRESS_BITS-1:0] m_axi_awaddr,
    output reg [7:0] m_axi_awlen,
    output [2:0] m_axi_awsize,
    output [1:0] m_axi_awburst,
    output m_axi_awlock,
    output [3:0] m_axi_awcache,
    output [2:0] m_axi_awprot,
    output [3:0] m_axi_awqos,
    output reg m_axi_awvalid,
    input m_axi_awready,
    output [DATA_BITS-1:0] m_axi_wdata,
    output [DATA_BITS/8-1:0] m_axi_wstrb,
    output m_axi_wlast,
    output m_axi_wvalid,
    input m_axi_wready,
    input m_axi_bid,
    input [1:0] m_axi_bresp,
    input m_axi_bvalid,
    output m_axi_bready
);
  localparam BYTES = DATA_BITS / 8;
  localparam LANES = DATA_BITS / 32;
  localparam SHIFT = $clog2(BYTES);
  localparam LONGEST = 16 * BYTES;
  localparam PAGE = 4096;

  assign {m_axi_arid, m_axi_arlock, m_axi_arcache, m_axi_arprot, m_axi_arqos} = 0;
  assign {m_axi_awid, m_axi_awlock, m_axi_awcache, m_axi_awprot, m_axi_awqos} = 0;
  assign m_axi_arsize = SHIFT;
  assign m_axi_awsize = SHIFT;
  assign m_axi_arburst = 2'b01;
  assign m_axi_awburst = 2'b01;
  assign m_axi_rready = 1;
  assign m_axi_bready = 1;
  assign m_axi_wstrb = {BYTES{1'b1}};

  // The finaliser of MurmurHash3: each number to another one, no two to the same.
  function [31:0] scatter(input [31:0] number);
    reg [31:0] x;
    begin
      x = (number ^ number >> 16) * 32'h85EBCA6B;
      x = (x ^ x >> 13) * 32'hC2B2AE35;
      scatter = x ^ x >> 16;
    end
  endfunction

  function [DATA_BITS-1:0] content(input [31:0] word);
    integer part;
    for (part = 0; part < LANES; part = part + 1)
      content[32*part+:32] = (word * LANES + part + 1) * 32'h9E3779B1;
  endfunction

  // The burst that is next: the rest of the row, as far as one burst goes.
  reg [31:0] number;  // of the row in the sequence
  reg [31:0] offset;  // bytes of the row that were asked for
  wire [63:0] scaled = scatter(number) * {32'd0, table_rows};
  wire [31:0] row = random ? scaled[63:32] : number % table_rows;
  wire [63:0] at = row * {32'd0, row_bytes} + offset;
  wire [31:0] left = row_bytes - offset;
  wire [31:0] in_page = PAGE - at % PAGE;
  wire [31:0] allowed = in_page < LONGEST ? in_page : LONGEST;
  wire [31:0] span = left < allowed ? left : allowed;

  // Bursts in the order asked for, and how many have come how far.
  reg [31:0] words [0:SLOTS-1];  // the first word's number
  reg [7:0] lengths [0:SLOTS-1];  // beats less one
  reg [31:0] asked, come, addressed, sent, answered;
  reg [7:0] come_beat, sent_beat;
  wire [31:0] writable = !writes ? 0 : reads ? come : asked;
  wire [31:0] finished = writes ? answered : come;
  wire [31:0] newest = asked % SLOTS;
  wire [31:0] coming = come % SLOTS;
  wire [31:0] addressing = addressed % SLOTS;
  wire [31:0] sending = sent % SLOTS;

  wire asking = start && number < rows && asked - finished < outstanding
      && (!m_axi_arvalid || m_axi_arready);
  wire addressed_next = addressed != writable && (!m_axi_awvalid || m_axi_awready);
  wire come_last = come_beat == lengths[coming];
  wire received = m_axi_rvalid && m_axi_rready;
  wire stored = m_axi_bvalid && m_axi_bready;
  assign m_axi_wvalid = sent != writable;
  assign m_axi_wlast = sent_beat == lengths[sending];
  assign m_axi_wdata = content(words[sending] + sent_beat);
  assign done = start && number >= rows && finished == asked;

  reg begun;
  reg [31:0] elapsed;

  always @(posedge clk) begin
    if (m_axi_arready) m_axi_arvalid <= 0;
    if (asking) begin
      m_axi_arvalid <= reads;
      m_axi_araddr <= at;
      m_axi_arlen <= (span >> SHIFT) - 1;
      words[newest] <= at >> SHIFT;
      lengths[newest] <= (span >> SHIFT) - 1;
      asked <= asked + 1;
      offset <= span == left ? 0 : offset + span;
      if (span == left) number <= number + PORTS;
    end

    if (received) begin
      beats_read <= beats_read + 1;
      come_beat <= come_last ? 0 : come_beat + 1;
      come <= come + come_last;
      if (m_axi_rdata !== content(words[coming] + come_beat) || m_axi_rresp != 0
          || m_axi_rlast != come_last)
        wrong <= wrong + 1;
    end

    if (m_axi_awready) m_axi_awvalid <= 0;
    if (addressed_next) begin
      m_axi_awvalid <= 1;
      m_axi_awaddr <= words[addressing] << SHIFT;
      m_axi_awlen <= lengths[addressing];
      addressed <= addressed + 1;
    end

    if (m_axi_wvalid && m_axi_wready) begin
      beats_written <= beats_written + 1;
      sent_beat <= m_axi_wlast ? 0 : sent_beat + 1;
      sent <= sent + m_axi_wlast;
    end
    if (stored) begin
      answered <= answered + 1;
      if (m_axi_bresp != 0) wrong <= wrong + 1;
    end

    if (begun || m_axi_arvalid || m_axi_awvalid) begin
      begun <= 1;
      elapsed <= elapsed + 1;
      if (received || stored) cycles <= elapsed + 1;
    end

    if (rst) begin
      number <= PORT;
      offset <= 0;
      asked <= 0;
      come <= 0;
      addressed <= 0;
      sent <= 0;
      answered <= 0;
      come_beat <= 0;
      sent_beat <= 0;
      m_axi_arvalid <= 0;
      m_axi_awvalid <= 0;
      begun <= 0;
      elapsed <= 0;
      cycles <= 0;
      beats_read <= 0;
      beats_written <= 0;
      wrong <= 0;
    end
  end
endmodule
