// SPDX-FileCopyrightText: castbag contributors
// SPDX-License-Identifier: BSD-2-Clause

// A DRAM's banks and the controller that schedules them: first ready, first come.
//
// It has no clock of its own: its owner pushes accesses and calls `step` once for each clock of
// the command bus. An access is one burst, `BURST_BYTES`, of a row of a bank. Those that wait are
// kept in order of arrival, reads and writes apart, up to WINDOW each. In each clock at most one
// command goes out, the first of these that every timing rule allows:
//
//   1. the column command of the oldest access whose row is open;
//   2. an activate, for the oldest access of a bank that is closed;
//   3. a precharge, for the oldest access of a bank that has another row open, once no access that
//      waits hits that row.
//
// An access that others have overtaken PATIENCE times is next, whatever it takes; 0 keeps the order
// of the column commands, and only rows are opened ahead of them. Reads go before
// writes, until the writes' window is three quarters full or there is no read; then the writes go
// until there is none, or for two windows if a read waits. Rows stay open. Every tREFI all banks
// are closed and refreshed.
//
// Every command is shown to dram_rules.v, which knows nothing of how it was chosen.
module dram;
  `include "memory_timing.vh"
  integer patience, high, per_group;  // worked out from those

  // The timings that are kept. For tests of dram_rules.v, the one of number `haste` is a clock too
  // short, the refresh interval four times too long.
  reg [7:0] haste;
  initial haste = 0;
  reg [63:0] rcd, rp, ras, rc, rrd_s, rrd_l, faw, ccd_s, ccd_l, rtp, wr, wtr_s, wtr_l, turn_gap;
  reg [63:0] rfc, refi;
  task set_timings;
    begin
      patience = PATIENCE;
      high = WINDOW > 1 ? WINDOW * 3 / 4 : 1;
      per_group = BANKS / GROUPS;
      rcd = T_RCD - (haste == 1);
      rp = T_RP - (haste == 2);
      ras = T_RAS - (haste == 3);
      rc = T_RC - (haste == 4);
      rrd_s = T_RRD_S - (haste == 5);
      rrd_l = T_RRD_L - (haste == 6);
      faw = T_FAW - (haste == 7);
      ccd_s = T_CCD_S - (haste == 8);
      ccd_l = T_CCD_L - (haste == 9);
      rtp = T_RTP - (haste == 10);
      wr = T_WR - (haste == 11);
      wtr_s = T_WTR_S - (haste == 12);
      wtr_l = T_WTR_L - (haste == 13);
      turn_gap = T_TURN - (haste == 14);
      rfc = T_RFC - (haste == 15);
      refi = haste == 16 ? 4 * T_REFI : T_REFI;
    end
  endtask

  // An access: what its owner calls it, where it is, and what had to be done for it.
  `define TAG 31:0
  `define ROW 55:32
  `define BANK 61:56
  `define ACTIVATED 62
  `define PRECHARGED 63
  reg [63:0] reads[0:MOST_WINDOW-1], writes[0:MOST_WINDOW-1];
  integer read_count, write_count;

  // Outcome of `step`.
  reg issued;  // the column command of an access went out
  reg issued_write;
  reg [31:0] issued_tag;

  // Counters, since time 0; clocks are of the command bus.
  reg [63:0] row_hits, row_misses, row_conflicts;  // accesses: row open, bank closed, other row open
  reg [63:0] read_bursts, write_bursts, activates, precharges, refreshes;
  reg [63:0] clocks, active_clocks, busy_clocks, idle_clocks;  // a bank open; data; nothing asked
  reg [63:0] bank_clocks, activate_clocks, turn_clocks, refresh_clocks;  // why data waited

  localparam NONE = 0, BANK = 1, ACTIVATE = 2, TURN_AROUND = 3, REFRESH = 4;
  integer reason;

  reg [63:0] now, wake, next_refresh;
  reg is_open[0:MOST_BANKS-1];
  reg [23:0] open_row[0:MOST_BANKS-1];
  reg [63:0] may_activate[0:MOST_BANKS-1], may_precharge[0:MOST_BANKS-1], may_column[0:MOST_BANKS-1];
  reg [63:0] group_activate[0:MOST_BANKS-1], group_read[0:MOST_BANKS-1], group_write[0:MOST_BANKS-1];
  reg [63:0] any_activate, any_read, any_write, data_until;
  reg [63:0] activated[0:3];  // clocks of the last four
  integer oldest_activated, open_banks;
  reg writing, refreshing;
  integer overtaken, batch;

  dram_rules rules ();

  task clear_counts;
    begin
      {row_hits, row_misses, row_conflicts, read_bursts, write_bursts} = 0;
      {activates, precharges, refreshes, clocks, active_clocks, busy_clocks} = 0;
      {idle_clocks, bank_clocks, activate_clocks, turn_clocks, refresh_clocks} = 0;
    end
  endtask

  // All banks closed, nothing waits, long ago.
  task reset;
    integer k;
    begin
      set_timings;
      for (k = 0; k < BANKS; k = k + 1) begin
        is_open[k] = 0;
        may_activate[k] = 0;
        may_precharge[k] = 0;
        may_column[k] = 0;
      end
      for (k = 0; k < GROUPS; k = k + 1) begin
        group_activate[k] = 0;
        group_read[k] = 0;
        group_write[k] = 0;
      end
      for (k = 0; k < 4; k = k + 1) activated[k] = 0;
      {any_activate, any_read, any_write, data_until, wake} = 0;
      {writing, refreshing, issued} = 0;
      {read_count, write_count, oldest_activated, open_banks, overtaken, batch, reason} = 0;
      now = 1000;  // behind every time that a rule could ask for
      next_refresh = now + refi;
      rules.reset(now);
    end
  endtask

  // There must be room: `read_count` or `write_count` below WINDOW.
  task push(input is_write, input [31:0] tag, input [31:0] bank, input [31:0] row);
    reg [63:0] access;
    begin
      access = 0;
      access[`TAG] = tag;
      access[`ROW] = row;
      access[`BANK] = bank;
      if (is_write) begin
        writes[write_count] = access;
        write_count = write_count + 1;
      end else begin
        reads[read_count] = access;
        read_count = read_count + 1;
      end
      wake = 0;
    end
  endtask

  function [63:0] later(input [63:0] a, input [63:0] b);
    later = a > b ? a : b;
  endfunction

  task send(input [7:0] command, input integer bank, input [23:0] row);
    rules.check(now, command, bank, row);
  endtask

  // Scan results.
  integer column_at, activate_at, precharge_at;
  reg [MOST_BANKS-1:0] wanted, hit;  // banks that an older access waits for; whose open row one hits
  integer closing[0:MOST_BANKS-1], closings;

  // Look through one window for what may go out now; `wake` becomes when something next may.
  task scan(input of_writes);
    integer k, count, bank, group;
    reg [63:0] access, ready;
    begin
      column_at = -1;
      activate_at = -1;
      precharge_at = -1;
      wanted = 0;
      hit = 0;
      closings = 0;
      count = of_writes ? write_count : read_count;
      for (k = 0; k < count && column_at < 0; k = k + 1) begin
        access = of_writes ? writes[k] : reads[k];
        bank = access[`BANK];
        group = bank / per_group;
        if (is_open[bank] && open_row[bank] == access[`ROW]) begin
          hit[bank] = 1;
          ready = later(may_column[bank], of_writes ? later(group_write[group], any_write)
                                                    : later(group_read[group], any_read));
          if (ready > now) begin
            if (ready < wake) wake = ready;
          end else if (k == 0 || overtaken < patience) column_at = k;
        end else if (!wanted[bank]) begin
          if (is_open[bank]) begin
            closing[closings] = k;
            closings = closings + 1;
          end else begin
            ready = later(later(may_activate[bank], group_activate[group]),
                          later(any_activate, activated[oldest_activated] + faw));
            if (ready > now) begin
              if (ready < wake) wake = ready;
            end else if (activate_at < 0) activate_at = k;
          end
        end
        wanted[bank] = 1;
      end
      // A row is closed once nobody hits it, or for an access that has waited long enough.
      for (k = 0; k < closings && precharge_at < 0; k = k + 1) begin
        access = of_writes ? writes[closing[k]] : reads[closing[k]];
        bank = access[`BANK];
        if (!hit[bank] || (closing[k] == 0 && overtaken >= patience)) begin
          if (may_precharge[bank] <= now) precharge_at = closing[k];
          else if (may_precharge[bank] < wake) wake = may_precharge[bank];
        end
      end
    end
  endtask

  task column(input is_write, input integer at);
    integer k, bank, group;
    reg [63:0] access, end_of_data;
    begin
      access = is_write ? writes[at] : reads[at];
      bank = access[`BANK];
      group = bank / per_group;
      send(is_write ? "W" : "R", bank, access[`ROW]);
      issued = 1;
      issued_write = is_write;
      issued_tag = access[`TAG];
      overtaken = at == 0 ? 0 : overtaken + 1;
      batch = batch + 1;
      if (access[`PRECHARGED]) row_conflicts = row_conflicts + 1;
      else if (access[`ACTIVATED]) row_misses = row_misses + 1;
      else row_hits = row_hits + 1;
      data_until = now + (ccd_s > BURST_CLOCKS ? ccd_s : BURST_CLOCKS);
      if (is_write) begin
        write_bursts = write_bursts + 1;
        end_of_data = now + T_CWL + BURST_CLOCKS;
        any_write = now + ccd_s;
        group_write[group] = now + ccd_l;
        any_read = later(any_read, end_of_data + wtr_s);
        group_read[group] = later(group_read[group], end_of_data + wtr_l);
        may_precharge[bank] = later(may_precharge[bank], end_of_data + wr);
        write_count = write_count - 1;
        for (k = at; k < write_count; k = k + 1) writes[k] = writes[k+1];
      end else begin
        read_bursts = read_bursts + 1;
        end_of_data = now + T_CL + BURST_CLOCKS;
        any_read = now + ccd_s;
        group_read[group] = now + ccd_l;
        any_write = later(any_write, end_of_data + turn_gap - T_CWL);
        may_precharge[bank] = later(may_precharge[bank], now + rtp);
        read_count = read_count - 1;
        for (k = at; k < read_count; k = k + 1) reads[k] = reads[k+1];
      end
    end
  endtask

  task activate(input is_write, input integer at);
    integer bank, group;
    begin
      if (is_write) begin
        writes[at][`ACTIVATED] = 1;
        bank = writes[at][`BANK];
        open_row[bank] = writes[at][`ROW];
      end else begin
        reads[at][`ACTIVATED] = 1;
        bank = reads[at][`BANK];
        open_row[bank] = reads[at][`ROW];
      end
      group = bank / per_group;
      send("A", bank, open_row[bank]);
      activates = activates + 1;
      is_open[bank] = 1;
      open_banks = open_banks + 1;
      may_column[bank] = now + rcd;
      may_precharge[bank] = now + ras;
      may_activate[bank] = now + rc;
      any_activate = now + rrd_s;
      group_activate[group] = now + rrd_l;
      activated[oldest_activated] = now;
      oldest_activated = (oldest_activated + 1) % 4;
    end
  endtask

  task precharge(input is_write, input integer at);
    integer bank;
    begin
      if (is_write) begin
        writes[at][`PRECHARGED] = 1;
        bank = writes[at][`BANK];
      end else begin
        reads[at][`PRECHARGED] = 1;
        bank = reads[at][`BANK];
      end
      send("P", bank, 0);
      precharges = precharges + 1;
      is_open[bank] = 0;
      open_banks = open_banks - 1;
      may_activate[bank] = later(may_activate[bank], now + rp);
    end
  endtask

  // Close all banks with one command once each may be closed; then refresh.
  task refresh;
    integer k;
    reg [63:0] ready;
    begin
      ready = 0;
      for (k = 0; k < BANKS; k = k + 1)
        if (open_banks == 0) ready = later(ready, may_activate[k]);
        else if (is_open[k]) ready = later(ready, may_precharge[k]);
      if (ready <= now && open_banks != 0) begin
        send("*", 0, 0);
        precharges = precharges + open_banks;
        open_banks = 0;
        for (k = 0; k < BANKS; k = k + 1)
          if (is_open[k]) begin
            is_open[k] = 0;
            may_activate[k] = later(may_activate[k], now + rp);
          end
      end else if (ready <= now) begin
        send("F", 0, 0);
        refreshes = refreshes + 1;
        for (k = 0; k < BANKS; k = k + 1) may_activate[k] = now + rfc;
        next_refresh = next_refresh + refi;
        refreshing = 0;
      end
    end
  endtask

  // Which way the data bus goes.
  task turn;
    begin
      if (!writing && write_count != 0
          && (read_count == 0 || write_count >= high || batch >= 4 * WINDOW)) begin
        writing = 1;
        {batch, overtaken} = 0;
      end else if (writing && (write_count == 0 || (read_count != 0 && batch >= 2 * WINDOW)))
      begin
        writing = 0;
        {batch, overtaken} = 0;
      end
    end
  endtask

  // Why the oldest access that waits has no data now.
  task explain;
    integer bank, group;
    reg [63:0] access;
    begin
      access = writing ? writes[0] : reads[0];
      bank = access[`BANK];
      group = bank / per_group;
      if (is_open[bank])
        if (open_row[bank] == access[`ROW] && may_column[bank] <= now) reason = TURN_AROUND;
        else reason = BANK;
      else if (may_activate[bank] > now) reason = BANK;
      else if (later(group_activate[group], later(any_activate, activated[oldest_activated] + faw))
               > now) reason = ACTIVATE;
      else reason = BANK;
    end
  endtask

  // A clock of the command bus.
  task step;
    integer k;
    begin
      issued = 0;
      now = now + 1;
      clocks = clocks + 1;
      if (open_banks != 0) active_clocks = active_clocks + 1;
      if (!refreshing && now >= next_refresh) refreshing = 1;
      if (refreshing) begin
        refresh;
        reason = REFRESH;
        wake = 0;
      end else if (now >= wake) begin
        turn;
        reason = NONE;
        wake = {64{1'b1}};
        if (writing ? write_count != 0 : read_count != 0) begin
          scan(writing);
          if (column_at >= 0) column(writing, column_at);
          else if (activate_at >= 0) activate(writing, activate_at);
          else if (precharge_at >= 0) precharge(writing, precharge_at);
          if (column_at >= 0 || activate_at >= 0 || precharge_at >= 0) wake = 0;
          if (!issued) explain;
        end
      end
      if (now < data_until) busy_clocks = busy_clocks + 1;
      else
        case (reason)
          NONE: idle_clocks = idle_clocks + 1;
          BANK: bank_clocks = bank_clocks + 1;
          ACTIVATE: activate_clocks = activate_clocks + 1;
          TURN_AROUND: turn_clocks = turn_clocks + 1;
          default: refresh_clocks = refresh_clocks + 1;
        endcase
    end
  endtask
endmodule
