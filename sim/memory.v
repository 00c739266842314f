// SPDX-FileCopyrightText: castbag contributors
// SPDX-License-Identifier: BSD-2-Clause

// A simulated AXI4 memory, with READ_PORTS read ports and a write port.
//
// What it is like is in memory_timing.vh, see castbag.sim.memories. An `IDEAL` one:
//
//   - First beat of a read burst: valid LATENCY cycles after the burst was taken on AR, or right
//     behind the burst before it; RATE beats in 16 cycles, over all ports.
//   - Response to a write burst: valid LATENCY cycles after its last beat was taken on W, or its
//     address on AW if that came later; RATE beats in 16 cycles are taken.
//     A beat is stored just before its burst can be answered, not sooner: a manager that does
//     not wait for the response reads what was there before.
//
// Any other cuts its bursts into a DRAM's accesses and has dram.v schedule them: a beat can leave
// once the last of its accesses has brought its data, a write burst is answered once the last of
// its accesses has taken them. Data are read and stored when the column command goes out, so here
// too a manager that does not wait reads what was there before.
//
// Each port answers its bursts in the order taken. Up to BURSTS are taken before they are
// answered; W may come before AW. A beat beyond `bytes`, or in none of the `regions` if there are
// any, is answered DECERR, and not stored.
//
// Bursts are INCR, of whole bus words (a first address inside a word counts as that word's).
// The array holds 2**SIZE_BITS bytes, a multiple of the bus word; `bytes` is at most that.
module memory #(
    parameter ADDRESS_BITS = 32,
    parameter DATA_BITS = 64,
    parameter SIZE_BITS = 16,
    parameter READ_PORTS = 1,
    parameter BURSTS = 256,
    parameter REGIONS = 24
) (
    input clk,
    input rst,
    input [63:0] bytes,
    input [7:0] haste,                // 0, or for tests of the rules: see dram.v
    output reg [63:0] beats_read,     // since time 0
    output reg [63:0] beats_written,
    output [7:0] broken,              // rule of dram_rules.v that the DRAM broke, and when
    output [63:0] broken_clock,

    input [READ_PORTS-1:0] s_axi_arid,
    input [READ_PORTS*ADDRESS_BITS-1:0] s_axi_araddr,
    input [READ_PORTS*8-1:0] s_axi_arlen,
    input [READ_PORTS*3-1:0] s_axi_arsize,
    input [READ_PORTS*2-1:0] s_axi_arburst,
    input [READ_PORTS-1:0] s_axi_arlock,
    input [READ_PORTS*4-1:0] s_axi_arcache,
    input [READ_PORTS*3-1:0] s_axi_arprot,
    input [READ_PORTS*4-1:0] s_axi_arqos,
    input [READ_PORTS-1:0] s_axi_arvalid,
    output reg [READ_PORTS-1:0] s_axi_arready,
    output reg [READ_PORTS-1:0] s_axi_rid,
    output reg [READ_PORTS*DATA_BITS-1:0] s_axi_rdata,
    output reg [READ_PORTS*2-1:0] s_axi_rresp,
    output reg [READ_PORTS-1:0] s_axi_rlast,
    output reg [READ_PORTS-1:0] s_axi_rvalid,
    input [READ_PORTS-1:0] s_axi_rready,

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
    output reg s_axi_awready,
    input [DATA_BITS-1:0] s_axi_wdata,
    input [DATA_BITS/8-1:0] s_axi_wstrb,
    input s_axi_wlast,
    input s_axi_wvalid,
    output reg s_axi_wready,
    output reg s_axi_bid,
    output reg [1:0] s_axi_bresp,
    output reg s_axi_bvalid,
    input s_axi_bready
);
  `include "memory_timing.vh"
  localparam BYTES = DATA_BITS / 8;
  localparam SHIFT = $clog2(BYTES);
  localparam [1:0] OKAY = 2'b00, DECERR = 2'b11;
  localparam READ_BEATS = 4096, WRITE_BEATS = 16384;  // room for data, each port
  localparam DRAM_WRITE_BEATS = 256;  // that a controller takes ahead
  integer most;  // sixteenths of a beat that can be saved up

  storage #(
      .DATA_BITS(DATA_BITS), .SIZE_BITS(SIZE_BITS), .REGIONS(REGIONS)
  ) storage ();
  dram dram ();
  assign broken = dram.rules.broken;
  assign broken_clock = dram.rules.broken_clock;

  // For records; the order is castbag.sim.activity's.
  wire [64*16-1:0] dram_counts = {
    dram.refresh_clocks, dram.turn_clocks, dram.activate_clocks, dram.bank_clocks,
    dram.idle_clocks, dram.busy_clocks, dram.active_clocks, dram.clocks,
    dram.refreshes, dram.precharges, dram.activates, dram.write_bursts, dram.read_bursts,
    dram.row_conflicts, dram.row_misses, dram.row_hits
  };

  reg [63:0] cycle;

  // Reads. Of each port: a ring of bursts taken, of which the head's beats leave one by one, and
  // where there is a DRAM a ring of those beats: data, and the cycle from which they can leave.
  reg [63:0] read_word[0:READ_PORTS*BURSTS-1];  // of the whole address space, not of the array
  reg [7:0] read_length[0:READ_PORTS*BURSTS-1];
  reg read_id[0:READ_PORTS*BURSTS-1];
  reg [63:0] read_taken[0:READ_PORTS*BURSTS-1];  // in this cycle
  reg [31:0] read_start[0:READ_PORTS*BURSTS-1];  // place of its first beat
  reg [31:0] reads_taken[0:READ_PORTS-1], reads_asked[0:READ_PORTS-1], reads_done[0:READ_PORTS-1];
  reg [31:0] next_access[0:READ_PORTS-1];  // of the burst that is being asked for
  reg [31:0] beats_taken[0:READ_PORTS-1], beats_done[0:READ_PORTS-1];
  reg [DATA_BITS-1:0] read_data[0:READ_PORTS*READ_BEATS-1];
  reg [63:0] read_due[0:READ_PORTS*READ_BEATS-1];  // 0: not known
  reg [7:0] read_missing[0:READ_PORTS*READ_BEATS-1];  // accesses still to come
  reg [7:0] read_beat[0:READ_PORTS-1];
  integer read_tokens, first_port;

  // Writes: a ring of bursts and a ring of beats, each filled by its own channel.
  reg [63:0] write_word[0:BURSTS-1];
  reg [7:0] write_length[0:BURSTS-1];
  reg write_id[0:BURSTS-1];
  reg [63:0] write_taken[0:BURSTS-1];
  reg [31:0] write_start[0:BURSTS-1];
  reg [31:0] write_left[0:BURSTS-1];  // accesses not stored
  reg [63:0] write_due[0:BURSTS-1];
  reg [1:0] response[0:BURSTS-1];
  reg [31:0] writes_taken, writes_asked, writes_stored, writes_done;
  reg [31:0] write_access, write_beats_announced, write_beats_taken, write_beats_done;
  reg [DATA_BITS-1:0] write_data[0:WRITE_BEATS-1];
  reg [BYTES-1:0] write_strobe[0:WRITE_BEATS-1];
  reg [63:0] beat_taken[0:WRITE_BEATS-1];
  integer write_tokens;

  // How accesses and beats lie in one another: the accesses a beat takes, and where an access ends.
  integer per_beat;
  function [63:0] access_of(input [63:0] word);
    access_of = (word << SHIFT) / BURST_BYTES;
  endfunction
  // Beats of a burst that are behind the end of access number `access` counted from its first.
  function [31:0] beats_until(input [63:0] word, input [31:0] access);
    beats_until = ((access_of(word) + access + 1) * BURST_BYTES - (word << SHIFT)) >> SHIFT;
  endfunction

  // Have the DRAM make an access: columns lie lowest, above them bank, then row; the bank's group
  // lies GROUP_SHIFT accesses high within the columns.
  task ask(input is_write, input [31:0] tag, input [63:0] access);
    reg [31:0] columns, per_group, group, bank;
    reg [63:0] above;
    begin
      columns = ROW_BYTES / BURST_BYTES;
      per_group = BANKS / GROUPS;
      group = (access >> GROUP_SHIFT) % GROUPS;
      above = access / (columns * GROUPS);
      bank = above % per_group;
      dram.push(is_write, tag, group * per_group + bank, (above / per_group) % ROWS);
    end
  endtask

  integer port, slot, at, k, clock, beat, last, room;
  reg [63:0] word, due;
  reg again;

  // The head of a port's ring leaves, if it may.
  task give(input integer port);
    begin
      if (s_axi_rready[port]) s_axi_rvalid[port] <= 0;
      slot = port * BURSTS + reads_done[port] % BURSTS;
      at = port * READ_BEATS + beats_done[port] % READ_BEATS;
      due = IDEAL ? read_taken[slot] + LATENCY - 1 : read_due[at];
      if (reads_taken[port] != reads_done[port] && due != 0 && cycle >= due && read_tokens >= 16
          && (!s_axi_rvalid[port] || s_axi_rready[port])) begin
        word = read_word[slot] + read_beat[port];
        if (IDEAL) storage.read(word);
        read_tokens = read_tokens - 16;
        s_axi_rvalid[port] <= 1;
        s_axi_rid[port] <= read_id[slot];
        s_axi_rdata[port*DATA_BITS+:DATA_BITS] <= IDEAL ? storage.found : read_data[at];
        s_axi_rresp[port*2+:2] <= storage.allowed(word, bytes) ? OKAY : DECERR;
        s_axi_rlast[port] <= read_beat[port] == read_length[slot];
        beats_done[port] = beats_done[port] + 1;
        if (read_beat[port] == read_length[slot]) begin
          read_beat[port] = 0;
          reads_done[port] = reads_done[port] + 1;
        end else read_beat[port] = read_beat[port] + 1;
      end
    end
  endtask

  task take_reads(input integer port);
    begin
      if (s_axi_rvalid[port] && s_axi_rready[port]) beats_read <= beats_read + 1;
      if (s_axi_arvalid[port] && s_axi_arready[port]) begin
        slot = port * BURSTS + reads_taken[port] % BURSTS;
        read_word[slot] = s_axi_araddr[port*ADDRESS_BITS+:ADDRESS_BITS] >> SHIFT;
        read_length[slot] = s_axi_arlen[port*8+:8];
        read_id[slot] = s_axi_arid[port];
        read_taken[slot] = cycle;
        read_start[slot] = beats_taken[port];
        reads_taken[port] = reads_taken[port] + 1;
        if (!IDEAL)
          for (k = 0; k <= read_length[slot]; k = k + 1) begin
            at = port * READ_BEATS + (beats_taken[port] + k) % READ_BEATS;
            read_missing[at] = per_beat;
            read_due[at] = 0;
          end
        beats_taken[port] = beats_taken[port] + read_length[slot] + 1;
      end
      s_axi_arready[port] <= reads_taken[port] - reads_done[port] < BURSTS
          && (IDEAL || beats_taken[port] - beats_done[port] + 256 <= READ_BEATS);
    end
  endtask

  // Let the oldest burst of a port that has accesses left ask for one.
  task ask_reads(input integer port);
    begin
      slot = port * BURSTS + reads_asked[port] % BURSTS;
      if (reads_taken[port] != reads_asked[port] && cycle >= read_taken[slot] + FRONT
          && dram.read_count < WINDOW) begin
        again = 1;
        ask(0, port * 32'h1000000 + (reads_asked[port] % BURSTS) * 32'h1000 + next_access[port],
            access_of(read_word[slot]) + next_access[port]);
        next_access[port] = next_access[port] + 1;
        if (beats_until(read_word[slot], next_access[port] - 1) > read_length[slot]) begin
          next_access[port] = 0;
          reads_asked[port] = reads_asked[port] + 1;
        end
      end
    end
  endtask

  // The oldest write burst asks for its accesses as their data come.
  task ask_writes;
    begin
      slot = writes_asked % BURSTS;
      last = beats_until(write_word[slot], write_access);
      if (last > write_length[slot]) last = write_length[slot] + 1;
      if (writes_taken != writes_asked && cycle >= write_taken[slot] + FRONT
          && dram.write_count < WINDOW && write_beats_taken - write_start[slot] >= last
          && write_beats_taken != write_start[slot]) begin
        again = 1;
        ask(1, slot * 32'h1000 + write_access, access_of(write_word[slot]) + write_access);
        write_access = write_access + 1;
        write_left[slot] = write_left[slot] + 1;
        if (last > write_length[slot]) begin
          write_access = 0;
          writes_asked = writes_asked + 1;
        end
      end
    end
  endtask

  // A column command went out: move the data, and note when they are there.
  task move;
    begin
      port = dram.issued_write ? 0 : dram.issued_tag[31:24];
      slot = port * BURSTS + dram.issued_tag[23:12];
      word = dram.issued_write ? write_word[slot] : read_word[slot];
      k = dram.issued_tag[11:0];
      beat = k == 0 ? 0 : beats_until(word, k - 1);
      last = beats_until(word, k);
      if (BYTES > BURST_BYTES) last = beat + 1;
      due = cycle + (clock + (dram.issued_write ? T_CWL : T_CL) + BURST_CLOCKS + CLOCKS - 1) / CLOCKS
          + BACK;
      if (dram.issued_write) begin
        for (k = beat; k < last && k <= write_length[slot]; k = k + 1) store(slot, k);
        write_left[slot] = write_left[slot] - 1;
        if (due > write_due[slot]) write_due[slot] = due;
      end else
        for (k = beat; k < last && k <= read_length[slot]; k = k + 1) begin
          at = port * READ_BEATS + (read_start[slot] + k) % READ_BEATS;
          read_missing[at] = read_missing[at] - 1;
          if (read_missing[at] == 0) begin
            storage.read(word + k);
            read_data[at] = storage.found;
            read_due[at] = due;
          end
        end
    end
  endtask

  task store(input integer slot, input integer beat);
    begin
      at = (write_start[slot] + beat) % WRITE_BEATS;
      if (storage.allowed(write_word[slot] + beat, bytes))
        storage.write(write_word[slot] + beat, write_data[at], write_strobe[at]);
      else response[slot] = DECERR;
    end
  endtask

  task take_writes;
    begin
      if (s_axi_wvalid && s_axi_wready) begin
        at = write_beats_taken % WRITE_BEATS;
        write_data[at] = s_axi_wdata;
        write_strobe[at] = s_axi_wstrb;
        beat_taken[at] = cycle;
        write_beats_taken = write_beats_taken + 1;
        write_tokens = write_tokens - 16;
        beats_written <= beats_written + 1;
      end
      if (s_axi_awvalid && s_axi_awready) begin
        slot = writes_taken % BURSTS;
        write_word[slot] = s_axi_awaddr >> SHIFT;
        write_length[slot] = s_axi_awlen;
        write_id[slot] = s_axi_awid;
        write_taken[slot] = cycle;
        write_start[slot] = write_beats_announced;
        write_left[slot] = 0;
        write_due[slot] = 0;
        response[slot] = OKAY;
        write_beats_announced = write_beats_announced + s_axi_awlen + 1;
        writes_taken = writes_taken + 1;
      end
    end
  endtask

  // An ideal memory stores a beat LATENCY - 1 cycles after both it and its address were taken.
  task store_late;
    begin
      slot = writes_stored % BURSTS;
      at = write_beats_done % WRITE_BEATS;
      if (writes_stored != writes_taken && write_beats_done != write_beats_taken
          && cycle >= write_taken[slot] + LATENCY - 1 && cycle >= beat_taken[at] + LATENCY - 1)
      begin
        store(slot, write_beats_done - write_start[slot]);
        write_beats_done = write_beats_done + 1;
        if (write_beats_done == write_start[slot] + write_length[slot] + 1)
          writes_stored = writes_stored + 1;
      end
    end
  endtask

  // Behind a DRAM: bursts all of whose accesses are over, in order.
  task retire;
    begin
      slot = writes_stored % BURSTS;
      if (writes_stored != writes_asked && write_left[slot] == 0 && cycle >= write_due[slot]) begin
        write_beats_done = write_start[slot] + write_length[slot] + 1;
        writes_stored = writes_stored + 1;
      end
    end
  endtask

  task answer;
    begin
      if (s_axi_bvalid && s_axi_bready) writes_done = writes_done + 1;
      slot = writes_done % BURSTS;
      s_axi_bvalid <= writes_stored != writes_done;
      s_axi_bid <= write_id[slot];
      s_axi_bresp <= response[slot];
      s_axi_awready <= writes_taken - writes_done < BURSTS;
      room = IDEAL ? WRITE_BEATS : DRAM_WRITE_BEATS;
      s_axi_wready <= write_beats_taken - write_beats_done < room && write_tokens >= 16;
    end
  endtask

  initial begin
    beats_read = 0;
    beats_written = 0;
    dram.clear_counts;
  end

  always @(posedge clk)
    if (rst) begin
      cycle = 1;
      for (port = 0; port < READ_PORTS; port = port + 1) begin
        reads_taken[port] = 0;
        reads_asked[port] = 0;
        reads_done[port] = 0;
        next_access[port] = 0;
        beats_taken[port] = 0;
        beats_done[port] = 0;
        read_beat[port] = 0;
      end
      {writes_taken, writes_asked, writes_stored, writes_done} = 0;
      {write_access, write_beats_announced, write_beats_taken, write_beats_done} = 0;
      {s_axi_arready, s_axi_rvalid, s_axi_awready, s_axi_wready, s_axi_bvalid} <= 0;
      most = RATE < 16 ? 15 + RATE : 16;
      per_beat = BYTES > BURST_BYTES ? BYTES / BURST_BYTES : 1;
      read_tokens = 16;
      write_tokens = 16;
      first_port = 0;
      dram.haste = haste;
      dram.reset;
    end else begin
      for (port = 0; port < READ_PORTS; port = port + 1) give((port + first_port) % READ_PORTS);
      for (port = 0; port < READ_PORTS; port = port + 1) take_reads(port);
      take_writes;
      if (IDEAL) store_late;
      else begin
        again = 1;
        while (again) begin
          again = 0;
          for (port = 0; port < READ_PORTS; port = port + 1)
            ask_reads((port + first_port) % READ_PORTS);
          ask_writes;
        end
        for (clock = 0; clock < CLOCKS; clock = clock + 1) begin
          dram.step;
          if (dram.issued) move;
        end
        retire;
      end
      read_tokens = read_tokens + RATE > most ? most : read_tokens + RATE;
      write_tokens = write_tokens + RATE > most ? most : write_tokens + RATE;
      answer;
      first_port = (first_port + 1) % READ_PORTS;
      cycle = cycle + 1;
    end
endmodule
