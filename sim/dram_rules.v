// SPDX-FileCopyrightText: castbag contributors
// SPDX-License-Identifier: BSD-2-Clause

// Watches a DRAM's commands and keeps the first rule that one breaks.
//
// Written from the standards' statements, as distances between commands, and from nothing of what
// dram.v plans with. `broken` is the rule's number, 0 for none, as named in castbag.sim.session;
// `broken_clock` and `broken_bank` say where. Commands are (A)ctivate, (R)ead, (W)rite, (P)recharge,
// "*" to precharge all banks, and re(F)resh.
module dram_rules;
  `include "memory_timing.vh"

  reg [7:0] broken;
  reg [63:0] broken_clock;
  reg [31:0] broken_bank;

  // Clock of the last command of each kind.
  reg [63:0] activated[0:MOST_BANKS-1], precharged[0:MOST_BANKS-1], was_read[0:MOST_BANKS-1];
  reg [63:0] written[0:MOST_BANKS-1];
  reg [63:0] refreshed;
  reg is_open[0:MOST_BANKS-1];
  reg [23:0] row_of[0:MOST_BANKS-1];

  task breaks(input integer rule, input [63:0] clock, input integer bank);
    if (broken == 0) begin
      broken = rule;
      broken_clock = clock;
      broken_bank = bank;
    end
  endtask

  task reset(input [63:0] clock);
    integer k;
    begin
      broken = 0;
      for (k = 0; k < BANKS; k = k + 1) begin
        activated[k] = 0;
        precharged[k] = 0;
        was_read[k] = 0;
        written[k] = 0;
        is_open[k] = 0;
      end
      refreshed = clock - T_RFC;
    end
  endtask

  task check(input [63:0] clock, input [7:0] command, input integer bank, input [23:0] row);
    integer k, same, recent, per_group;
    begin
      per_group = BANKS / GROUPS;
      recent = 0;
      for (k = 0; k < BANKS; k = k + 1) begin
        same = k / per_group == bank / per_group;
        case (command)
          "A": begin
            if (k != bank && clock < activated[k] + T_RRD_S) breaks(5, clock, bank);
            if (k != bank && same && clock < activated[k] + T_RRD_L) breaks(6, clock, bank);
            if (clock < activated[k] + T_FAW) recent = recent + 1;
          end
          "R": begin
            if (clock < was_read[k] + T_CCD_S) breaks(8, clock, bank);
            if (same && clock < was_read[k] + T_CCD_L) breaks(9, clock, bank);
            if (written[k] != 0) begin
              if (clock < written[k] + T_CWL + BURST_CLOCKS + T_WTR_S) breaks(12, clock, bank);
              if (same && clock < written[k] + T_CWL + BURST_CLOCKS + T_WTR_L)
                breaks(13, clock, bank);
            end
          end
          "W": begin
            if (clock < written[k] + T_CCD_S) breaks(8, clock, bank);
            if (same && clock < written[k] + T_CCD_L) breaks(9, clock, bank);
            if (was_read[k] != 0
                && clock + T_CWL < was_read[k] + T_CL + BURST_CLOCKS + T_TURN)
              breaks(14, clock, bank);
          end
          "P", "*":
          if ((command == "*" || k == bank) && is_open[k]) begin
            if (clock < activated[k] + T_RAS) breaks(3, clock, k);
            if (clock < was_read[k] + T_RTP) breaks(10, clock, k);
            if (written[k] != 0 && clock < written[k] + T_CWL + BURST_CLOCKS + T_WR)
              breaks(11, clock, k);
            is_open[k] = 0;
            precharged[k] = clock;
          end
          "F": begin
            if (is_open[k]) breaks(17, clock, k);
            if (clock < precharged[k] + T_RP) breaks(2, clock, k);
          end
          default: breaks(17, clock, bank);
        endcase
      end
      case (command)
        "A": begin
          if (is_open[bank]) breaks(17, clock, bank);
          if (clock < precharged[bank] + T_RP) breaks(2, clock, bank);
          if (clock < activated[bank] + T_RC) breaks(4, clock, bank);
          if (recent > 3) breaks(7, clock, bank);
          if (clock < refreshed + T_RFC) breaks(15, clock, bank);
          is_open[bank] = 1;
          row_of[bank] = row;
          activated[bank] = clock;
        end
        "R", "W": begin
          if (!is_open[bank] || row_of[bank] != row) breaks(17, clock, bank);
          if (clock < activated[bank] + T_RCD) breaks(1, clock, bank);
          if (command == "R") was_read[bank] = clock;
          else written[bank] = clock;
        end
        "F": begin
          if (clock < refreshed + T_RFC) breaks(15, clock, 0);
          refreshed = clock;
        end
        default: ;
      endcase
      // A refresh may be late by as long as it takes to close the banks.
      if (clock > refreshed + 2 * T_REFI) breaks(16, clock, bank);
    end
  endtask
endmodule
