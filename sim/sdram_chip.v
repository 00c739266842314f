// SPDX-FileCopyrightText: castbag contributors
// SPDX-License-Identifier: BSD-2-Clause

// A single-data-rate SDRAM chip of four banks and 16 data bits, that watches its data sheet's rules.
//
// Its clock is the inverse of `clk`: it acts on falling edges, where everything that its user drives
// from rising ones has stood for half a clock. Command pins are active high.
//
// The first rule that is broken is kept; `broken` is its number, 0 for none, as named in
// castbag.sim.sdram, `broken_clock` its clock since time 0. Nothing is refused for it.
//
// Data that are read are on `dq_o` for the half clock before the edge at which they are to be
// sampled, and noise at all other times: so of the samples that are taken twice a clock one is right
// and both its neighbours are not. That half clock comes `delay` half clocks later.
//
// Cells are numbered {row, bank, column}. `peek_data` is what the word of four cells number `word`
// was at the last rising edge of `clk`; on one with `poke` it becomes `poke_data`. A cell that nobody
// wrote holds what the simulator put there.
module sdram_chip #(
    parameter ROW_BITS = 13,
    parameter COLUMN_BITS = 9,
    parameter CL = 2,
    parameter T_RCD = 2,  // all in clocks, see castbag.rtl.sdram.chips
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
    parameter KEPT_ROW_BITS = ROW_BITS  // fewer: rows that differ above them only are one
) (
    input clk,
    input cke,
    input cs,
    input ras,
    input cas,
    input we,
    input [1:0] ba,
    input [ROW_BITS-1:0] a,
    input [1:0] dqm,
    input [15:0] dq_i,  // what is driven onto the pins from outside
    input dq_oe,
    input [2:0] delay,  // steady
    output [15:0] dq_o,

    input [31:0] word,
    input poke,
    input [63:0] poke_data,
    output reg [63:0] peek_data,

    output reg [7:0] broken,
    output reg [63:0] broken_clock,
    output reg [31:0] activates,  // commands since time 0
    output reg [31:0] column_reads,
    output reg [31:0] column_writes,
    output reg [31:0] refreshes
);
  localparam CELL_BITS = KEPT_ROW_BITS + 2 + COLUMN_BITS;
  localparam POSTPONED = 8;  // refreshes that may be owed

  reg [15:0] cells[0:(1<<CELL_BITS)-1];
  wire [CELL_BITS-1:0] first_cell = {word, 2'b00};
  always @(posedge clk)
    peek_data <= {
      cells[first_cell|3], cells[first_cell|2], cells[first_cell|1], cells[first_cell]
    };

  reg [63:0] now;
  reg [63:0] activated[0:3], precharged[0:3], was_read[0:3], written[0:3];
  reg [3:0] is_open;
  reg [ROW_BITS-1:0] row[0:3];
  reg [63:0] refreshed, moded, last_column, last_activate;
  reg [63:0] owed;  // clocks since the refreshes that were due
  reg precharged_all, up;
  reg [31:0] power_up_refreshes;
  integer k;

  // The access whose data go, and those to be read, by the edges still to come.
  reg [CELL_BITS-1:0] writing_cell;
  reg [2:0] writes_left;
  reg [7:0] drives;  // bit n: data are on the pins between edges n and n + 1 from now
  reg [CELL_BITS-1:0] reading_cell[0:7];
  reg [7:0] reads;  // bit n: a transfer is launched n edges from now
  reg drove;
  reg [1:0] masked;  // dqm at the edge before
  reg launched;
  reg [15:0] launched_data;
  reg [1:0] launched_mask;

  initial begin
    broken = 0;
    broken_clock = 0;
    activates = 0;
    column_reads = 0;
    column_writes = 0;
    refreshes = 0;
    now = 1000;  // behind every time that a rule could ask for
    is_open = 0;
    for (k = 0; k < 4; k = k + 1) begin
      activated[k] = 0;
      precharged[k] = 0;
      was_read[k] = 0;
      written[k] = 0;
    end
    refreshed = 0;
    moded = 0;
    last_column = 0;
    last_activate = 0;
    owed = 0;
    precharged_all = 0;
    up = 0;
    power_up_refreshes = 0;
    writes_left = 0;
    drives = 0;
    reads = 0;
    drove = 0;
    masked = 0;
    launched = 0;
  end

  task breaks(input [7:0] rule);
    if (broken == 0) begin
      broken = rule;
      broken_clock = now - 1000;
    end
  endtask

  function [CELL_BITS-1:0] cell_at(input [CELL_BITS-1:0] first, input [1:0] transfer);
    cell_at = {first[CELL_BITS-1:2], first[1:0] + transfer};
  endfunction

  task activate;
    begin
      if (!up) breaks(10);
      if (is_open[ba]) breaks(12);
      if (now < precharged[ba] + T_RP) breaks(2);
      if (now < activated[ba] + T_RC) breaks(4);
      if (now < last_activate + T_RRD) breaks(5);
      is_open[ba] = 1;
      row[ba] = a;
      activated[ba] = now;
      last_activate = now;
      activates = activates + 1;
    end
  endtask

  task column(input is_write);
    reg [CELL_BITS-1:0] first;
    integer n;
    begin
      first = {row[ba], ba, a[COLUMN_BITS-1:0]};
      if (!up) breaks(10);
      if (!is_open[ba]) breaks(12);
      if (now < activated[ba] + T_RCD) breaks(1);
      if (now < last_column + 4) breaks(14);
      if (a[10]) breaks(16);
      last_column = now;
      if (is_write) begin
        written[ba] = now;
        column_writes = column_writes + 1;
        writing_cell = first;
        writes_left = 4;
      end else begin
        was_read[ba] = now;
        column_reads = column_reads + 1;
        for (n = 0; n < 4; n = n + 1) begin
          reads[CL-1+n] = 1;
          reading_cell[CL-1+n] = cell_at(first, n);
        end
        drives = drives | 8'b11111 << (CL - 1);
      end
    end
  endtask

  task precharge;
    begin
      for (k = 0; k < 4; k = k + 1)
        if (a[10] || ba == k) begin
          if (is_open[k]) begin
            if (now < activated[k] + T_RAS) breaks(3);
            if (was_read[k] != 0 && now < was_read[k] + 4) breaks(14);
            if (written[k] != 0 && now < written[k] + 3 + T_WR) breaks(6);
            precharged[k] = now;
          end
          is_open[k] = 0;
        end
      if (a[10]) precharged_all = 1;
      if (!up) for (k = 0; k < 4; k = k + 1) precharged[k] = now;
    end
  endtask

  task refresh;
    begin
      if (is_open != 0) breaks(12);
      for (k = 0; k < 4; k = k + 1) begin
        if (now < precharged[k] + T_RP) breaks(2);
        if (now < activated[k] + T_RC) breaks(4);
      end
      if (!up && !precharged_all) breaks(10);
      power_up_refreshes = power_up_refreshes + 1;
      refreshes = refreshes + 1;
      refreshed = now;
      owed = owed > REFRESH ? owed - REFRESH : 0;
    end
  endtask

  task set_mode;
    begin
      if (is_open != 0) breaks(12);
      for (k = 0; k < 4; k = k + 1) if (now < precharged[k] + T_RP) breaks(2);
      if (!up && (!precharged_all || power_up_refreshes < REFRESHES)) breaks(10);
      // Bursts of four, in sequence, written as read.
      if (a != (CL << 4 | 2) || ba != 0) breaks(11);
      moded = now;
      if (!up) owed = 0;
      up = 1;
    end
  endtask

  task command;
    begin
      if ({ras, cas, we} != 0) begin
        if (now < 1000 + POWER_UP) breaks(10);
        if (refreshed != 0 && now < refreshed + T_RFC) breaks(7);
        if (moded != 0 && now < moded + T_MRD) breaks(8);
      end
      case ({ras, cas, we})
        3'b000: ;
        3'b100: activate;
        3'b010: column(0);
        3'b011: column(1);
        3'b101: precharge;
        3'b110: refresh;
        3'b111: set_mode;
        default: breaks(16);
      endcase
    end
  endtask

  always @(negedge clk) begin
    now = now + 1;
    owed = owed + 1;
    if (up && owed > (POSTPONED + 1) * REFRESH) breaks(9);
    if (cke && cs) command;
    else if (up && !cke) breaks(16);

    // Written now.
    if (dq_oe && (drove || drives[0])) breaks(13);
    if (writes_left != 0) begin
      if (!dq_oe) breaks(15);
      if (!dqm[0]) cells[writing_cell][7:0] = dq_i[7:0];
      if (!dqm[1]) cells[writing_cell][15:8] = dq_i[15:8];
      writing_cell = cell_at(writing_cell, 1);
      writes_left = writes_left - 1;
    end

    // Launched now.
    launched <= reads[0];
    launched_data <= cells[reading_cell[0]];
    launched_mask <= masked;
    drove = drives[0];
    masked = dqm;
    reads = reads >> 1;
    drives = drives >> 1;
    for (k = 0; k < 7; k = k + 1) reading_cell[k] = reading_cell[k+1];
  end

  always @(posedge clk)
    if (poke) begin
      cells[first_cell] <= poke_data[15:0];
      cells[first_cell|1] <= poke_data[31:16];
      cells[first_cell|2] <= poke_data[47:32];
      cells[first_cell|3] <= poke_data[63:48];
    end

  // Half a clock of data, half a clock of noise.
  reg [15:0] halves[0:7];
  reg [31:0] noise;
  initial noise = 32'h2545F491;
  assign dq_o = halves[delay];
  wire [15:0] driven = {
    launched_mask[1] ? noise[15:8] : launched_data[15:8],
    launched_mask[0] ? noise[7:0] : launched_data[7:0]
  };
  integer h;
  always @(posedge clk or negedge clk) begin
    noise <= {noise[30:0], noise[31] ^ noise[21] ^ noise[1] ^ noise[0]} ^ now[31:0];
    halves[0] <= clk && launched ? driven : noise[31:16];
    for (h = 1; h < 8; h = h + 1) halves[h] <= halves[h-1];
  end
endmodule
