// SPDX-FileCopyrightText: castbag contributors
// SPDX-License-Identifier: BSD-2-Clause

// A behavioural AXI4 memory: one beat a cycle each way, every answer LATENCY cycles late.
//
//   - First beat of a read burst: valid LATENCY cycles after the burst was taken on AR, or right
//     behind the burst before it. Bursts are answered in the order taken, with no gap between.
//   - Response to a write burst: valid LATENCY cycles after its last beat was taken on W.
//     A beat is stored just before its burst can be answered, not sooner: a manager that does
//     not wait for the response reads what was there before.
//   - Up to OUTSTANDING bursts each way are taken before they are answered. Write data are
//     taken once their address has been.
//   - A beat at or beyond `bytes` is answered DECERR, and not stored.
//
// Bursts are INCR, of whole bus words (a first address inside a word counts as that word's).
// The array holds 2**SIZE_BITS bytes, a multiple of the bus word; `bytes` is at most that.
// LATENCY is at least 2.
module memory #(
    parameter ADDRESS_BITS = 32,
    parameter DATA_BITS = 64,
    parameter SIZE_BITS = 16,
    parameter LATENCY = 64,
    parameter OUTSTANDING = 256
) (
    input clk,
    input rst,
    input [63:0] bytes,
    output reg [63:0] beats_read,     // since time 0
    output reg [63:0] beats_written,

    input s_axi_arid,
    input [ADDRESS_BITS-1:0] s_axi_araddr,
    input [7:0] s_axi_arlen,
    input [2:0] s_axi_arsize,
    input [1:0] s_axi_arburst,
    input s_axi_arlock,
    input [3:0] s_axi_arcache,
    input [2:0] s_axi_arprot,
    input [3:0] s_axi_arqos,
    input s_axi_arvalid,
    output s_axi_arready,
    output reg s_axi_rid,
    output reg [DATA_BITS-1:0] s_axi_rdata,
    output reg [1:0] s_axi_rresp,
    output reg s_axi_rlast,
    output reg s_axi_rvalid,
    input s_axi_rready,

    input s_axi_awid,
    input [ADDRESS_BITS-1:0] s_axi_awaddr,
    input [7:0] s_axi_awlen,
    input [2:0] s_axi_awsize,
    input [1:0] s_axi_awburst,
    input s_axi_awlock,
    input [3:0] s_axi_awcache,
    input [2:0] s_axi_awprot,
    input [3:0] s_axi_awqos,
    input s_axi_awvalid,
    output s_axi_awready,
    input [DATA_BITS-1:0] s_axi_wdata,
    input [DATA_BITS/8-1:0] s_axi_wstrb,
    input s_axi_wlast,
    input s_axi_wvalid,
    output s_axi_wready,
    output s_axi_bid,
    output [1:0] s_axi_bresp,
    output s_axi_bvalid,
    input s_axi_bready
);
  localparam BYTES = DATA_BITS / 8;
  localparam SHIFT = $clog2(BYTES);
  localparam WORDS = 1 << (SIZE_BITS - SHIFT);
  localparam [1:0] OKAY = 2'b00, DECERR = 2'b11;

  reg [DATA_BITS-1:0] words [0:WORDS-1];
  reg [63:0] cycle;

  initial begin
    beats_read = 0;
    beats_written = 0;
  end

  // Reads: a ring of bursts taken; the head's beats leave one by one.
  reg [63:0] read_word [0:OUTSTANDING-1];  // of the whole address space, not of the array
  reg [7:0] read_length [0:OUTSTANDING-1];
  reg read_id [0:OUTSTANDING-1];
  reg [63:0] read_due [0:OUTSTANDING-1];
  reg [31:0] reads_taken, reads_done;
  reg [7:0] read_beat;
  wire [31:0] read_in = reads_taken % OUTSTANDING;
  wire [31:0] read_head = reads_done % OUTSTANDING;
  wire [63:0] read_at = read_word[read_head] + read_beat;
  wire read_last = read_beat == read_length[read_head];
  wire reading = reads_taken != reads_done && cycle >= read_due[read_head]
      && (!s_axi_rvalid || s_axi_rready);
  assign s_axi_arready = reads_taken - reads_done != OUTSTANDING;

  always @(posedge clk) begin
    if (s_axi_rready) s_axi_rvalid <= 0;
    if (s_axi_rvalid && s_axi_rready && !rst) beats_read <= beats_read + 1;
    if (reading) begin
      s_axi_rvalid <= 1;
      s_axi_rid <= read_id[read_head];
      s_axi_rlast <= read_last;
      s_axi_rresp <= read_at < bytes >> SHIFT ? OKAY : DECERR;
      read_beat <= read_last ? 0 : read_beat + 1;
      reads_done <= reads_done + read_last;
    end
    if (s_axi_arvalid && s_axi_arready) begin
      read_word[read_in] <= s_axi_araddr >> SHIFT;
      read_length[read_in] <= s_axi_arlen;
      read_id[read_in] <= s_axi_arid;
      read_due[read_in] <= cycle + LATENCY - 1;
      reads_taken <= reads_taken + 1;
    end
    if (rst) begin
      s_axi_rvalid <= 0;
      read_beat <= 0;
      reads_taken <= 0;
      reads_done <= 0;
    end
  end

  // Writes: a ring of bursts taken; W's beats meet the oldest address that still lacks some.
  reg [63:0] write_word [0:OUTSTANDING-1];
  reg write_id [0:OUTSTANDING-1];
  reg [31:0] writes_taken, writes_filled, writes_stored, writes_done;
  reg [7:0] write_beat;
  reg outside;  // a beat before this one of the burst being stored was beyond `bytes`
  reg [1:0] response [0:OUTSTANDING-1];
  wire [31:0] write_in = writes_taken % OUTSTANDING;
  wire [31:0] write_head = writes_filled % OUTSTANDING;
  wire [31:0] storing = writes_stored % OUTSTANDING;
  wire [31:0] answering = writes_done % OUTSTANDING;
  assign s_axi_awready = writes_taken - writes_done != OUTSTANDING;
  assign s_axi_wready = writes_taken != writes_filled;
  assign s_axi_bvalid = writes_stored != writes_done;
  assign s_axi_bid = write_id[answering];
  assign s_axi_bresp = response[answering];

  // Beats on their way, in a ring that turns once in LATENCY - 1 cycles.
  reg late [0:LATENCY-2];
  reg late_last [0:LATENCY-2];
  reg [63:0] late_word [0:LATENCY-2];
  reg [DATA_BITS-1:0] late_data [0:LATENCY-2];
  reg [BYTES-1:0] late_strobe [0:LATENCY-2];
  reg [31:0] slot;
  wire [63:0] late_at = late_word[slot];
  wire late_outside = late_at >= bytes >> SHIFT;
  integer lane;

  // The one place where the array is read or written, so that a read sees what was stored in
  // cycles before its own.
  always @(posedge clk) begin
    if (reading) s_axi_rdata <= read_at < WORDS ? words[read_at] : {DATA_BITS{1'b1}};
    if (!rst && late[slot] && !late_outside) begin
      if (&late_strobe[slot]) words[late_at] = late_data[slot];
      else
        for (lane = 0; lane < BYTES; lane = lane + 1)
          if (late_strobe[slot][lane]) words[late_at][8*lane+:8] = late_data[slot][8*lane+:8];
    end
  end

  integer place;
  always @(posedge clk) begin
    cycle <= cycle + 1;
    slot <= slot == LATENCY - 2 ? 0 : slot + 1;
    if (s_axi_awvalid && s_axi_awready) begin
      write_word[write_in] <= s_axi_awaddr >> SHIFT;
      write_id[write_in] <= s_axi_awid;
      writes_taken <= writes_taken + 1;
    end
    late[slot] <= s_axi_wvalid && s_axi_wready;
    if (s_axi_wvalid && s_axi_wready) begin
      late_word[slot] <= write_word[write_head] + write_beat;
      late_data[slot] <= s_axi_wdata;
      late_strobe[slot] <= s_axi_wstrb;
      late_last[slot] <= s_axi_wlast;
      write_beat <= s_axi_wlast ? 0 : write_beat + 1;
      writes_filled <= writes_filled + s_axi_wlast;
      if (!rst) beats_written <= beats_written + 1;
    end
    if (late[slot]) begin
      outside <= !late_last[slot] && (outside || late_outside);
      response[storing] <= outside || late_outside ? DECERR : OKAY;
      writes_stored <= writes_stored + late_last[slot];
    end
    if (s_axi_bvalid && s_axi_bready) writes_done <= writes_done + 1;
    if (rst) begin
      cycle <= 0;
      slot <= 0;
      for (place = 0; place < LATENCY - 1; place = place + 1) late[place] <= 0;
      writes_taken <= 0;
      writes_filled <= 0;
      writes_stored <= 0;
      writes_done <= 0;
      write_beat <= 0;
      outside <= 0;
    end
  end

  // Back doors, in no time at all.

  // Content that nobody wrote: never zero, the same in every run.
  task fill;
    integer word, part;
    begin
      for (word = 0; word < bytes >> SHIFT; word = word + 1)
        for (part = 0; part < DATA_BITS / 32; part = part + 1)
          words[word][32*part+:32] = (word * (DATA_BITS / 32) + part + 1) * 32'h9E3779B1;
    end
  endtask

  // Words from a file; a word's last byte comes first in it.
  task load(input [8*32-1:0] name, input integer first, input integer count);
    integer file, got;
    begin
      file = $fopen(name, "rb");
got = $fread(words, file, first, count);
      if (got != count * BYTES) $fatal(1, "%0s holds %0d bytes, not %0d", name, got, count * BYTES);
      $fclose(file);
    end
  endtask

  // Words to a file; a word's first byte comes first in it.
  task dump(input [8*32-1:0] name, input integer first, input integer count);
    integer file, word;
    begin
      file = $fopen(name, "wb");
      for (word = first; word < first + count; word = word + 1) $fwrite(file, "%u", words[word]);
      $fclose(file);
    end
  endtask
endmodule
