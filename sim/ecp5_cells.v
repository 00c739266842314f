// SPDX-FileCopyrightText: castbag contributors
// SPDX-License-Identifier: BSD-2-Clause
//
// What yosys' own models of ECP5 cells leave out, for the simulation of synthesised netlists:
// the block RAM and the multiplier. Written from yosys' description of what it maps to them; not
// compared with Lattice's guides to them (FPGA-TN-02204, FPGA-TN-02205).

// Yosys' own LUT, for a simulator of two states: it is built in a fraction of the time.
`ifdef VERILATOR
module LUT4 #(
    parameter [15:0] INIT = 0
) (
    input A, B, C, D,
    output Z
);
    assign Z = INIT[{D, C, B, A}];
endmodule
`endif

// What one port of a block RAM means by its pins. The RAM is 512 words of 36 bits: four bytes of
// 9, of which widths 1, 2 and 4 see the lower 8 bits.
module dp16kd_port #(
    parameter WIDTH = 18,
    parameter WRITEMODE = "NORMAL",
    parameter CSDECODE = "0b000"
) (
    input [13:0] address,
    input [35:0] data,
    input ce, we,
    input [2:0] cs,
    output [8:0] word,
    output [5:0] place,  // of the lowest bit, in its word
    output [35:0] seen,  // bits of the word that belong to the address
    output [35:0] aligned,  // data, at its place
    output [35:0] written,  // bits of the word that are written
    output shows  // what was read, or written, at its output
);
    localparam [2:0] SELECT = CSDECODE == "0b111" ? 7 : CSDECODE == "0b110" ? 6 :
        CSDECODE == "0b101" ? 5 : CSDECODE == "0b100" ? 4 : CSDECODE == "0b011" ? 3 :
        CSDECODE == "0b010" ? 2 : CSDECODE == "0b001" ? 1 : 0;
    localparam [35:0] BITS = (36'd1 << WIDTH) - 36'd1;

    wire [1:0] lane = WIDTH == 36 ? 2'd0 : WIDTH == 18 ? {address[4], 1'b0} : address[4:3];
    wire [2:0] low = WIDTH == 4 ? {address[2], 2'b0} : WIDTH == 2 ? {address[2:1], 1'b0} :
        WIDTH == 1 ? address[2:0] : 3'd0;
    // Words of several bytes have no use for the lowest address bits: they enable bytes.
    wire [3:0] bytes = WIDTH == 36 ? address[3:0] : WIDTH == 18 ? {2'b0, address[1:0]} : 4'd1;
    wire [35:0] enabled =
        {{9{bytes[3]}}, {9{bytes[2]}}, {9{bytes[1]}}, {9{bytes[0]}}} & BITS;

    wire selected = ce && cs == SELECT;

    assign word = address[13:5];
    assign place = 9 * lane + low;
    assign seen = BITS << place;
    assign aligned = (data & BITS) << place;
    assign written = selected && we ? enabled << place : 36'd0;
    assign shows = selected && (!we || WRITEMODE != "NORMAL");
endmodule

// 18-kbit block RAM: two ports, or one of 36 bits to write (A) and one to read (B).
//
// A word that one port reads or writes through while the other writes a bit of it is noise (X
// where there are four states), and so are bits that both write. The two clocks are taken for
// one: with two clocks, more than what really collides does so here.
/* verilator lint_off MULTIDRIVEN */
/* verilator lint_off BLKSEQ */
module DP16KD #(
    parameter DATA_WIDTH_A = 18, parameter DATA_WIDTH_B = 18,
    parameter REGMODE_A = "NOREG", parameter REGMODE_B = "NOREG",
    parameter RESETMODE = "SYNC", parameter ASYNC_RESET_RELEASE = "SYNC",
    parameter CSDECODE_A = "0b000", parameter CSDECODE_B = "0b000",
    parameter WRITEMODE_A = "NORMAL", parameter WRITEMODE_B = "NORMAL",
    parameter CLKAMUX = "CLKA", parameter CLKBMUX = "CLKB",
    parameter GSR = "ENABLED",
    parameter [319:0] INITVAL_00 = 0, INITVAL_01 = 0, INITVAL_02 = 0, INITVAL_03 = 0,
    parameter [319:0] INITVAL_04 = 0, INITVAL_05 = 0, INITVAL_06 = 0, INITVAL_07 = 0,
    parameter [319:0] INITVAL_08 = 0, INITVAL_09 = 0, INITVAL_0A = 0, INITVAL_0B = 0,
    parameter [319:0] INITVAL_0C = 0, INITVAL_0D = 0, INITVAL_0E = 0, INITVAL_0F = 0,
    parameter [319:0] INITVAL_10 = 0, INITVAL_11 = 0, INITVAL_12 = 0, INITVAL_13 = 0,
    parameter [319:0] INITVAL_14 = 0, INITVAL_15 = 0, INITVAL_16 = 0, INITVAL_17 = 0,
    parameter [319:0] INITVAL_18 = 0, INITVAL_19 = 0, INITVAL_1A = 0, INITVAL_1B = 0,
    parameter [319:0] INITVAL_1C = 0, INITVAL_1D = 0, INITVAL_1E = 0, INITVAL_1F = 0,
    parameter [319:0] INITVAL_20 = 0, INITVAL_21 = 0, INITVAL_22 = 0, INITVAL_23 = 0,
    parameter [319:0] INITVAL_24 = 0, INITVAL_25 = 0, INITVAL_26 = 0, INITVAL_27 = 0,
    parameter [319:0] INITVAL_28 = 0, INITVAL_29 = 0, INITVAL_2A = 0, INITVAL_2B = 0,
    parameter [319:0] INITVAL_2C = 0, INITVAL_2D = 0, INITVAL_2E = 0, INITVAL_2F = 0,
    parameter [319:0] INITVAL_30 = 0, INITVAL_31 = 0, INITVAL_32 = 0, INITVAL_33 = 0,
    parameter [319:0] INITVAL_34 = 0, INITVAL_35 = 0, INITVAL_36 = 0, INITVAL_37 = 0,
    parameter [319:0] INITVAL_38 = 0, INITVAL_39 = 0, INITVAL_3A = 0, INITVAL_3B = 0,
    parameter [319:0] INITVAL_3C = 0, INITVAL_3D = 0, INITVAL_3E = 0, INITVAL_3F = 0
) (
    input DIA17, DIA16, DIA15, DIA14, DIA13, DIA12, DIA11, DIA10, DIA9,
        DIA8, DIA7, DIA6, DIA5, DIA4, DIA3, DIA2, DIA1, DIA0,
    input ADA13, ADA12, ADA11, ADA10, ADA9, ADA8, ADA7, ADA6, ADA5, ADA4, ADA3, ADA2, ADA1, ADA0,
    input CLKA, CEA, OCEA, WEA, RSTA, CSA2, CSA1, CSA0,
    output DOA17, DOA16, DOA15, DOA14, DOA13, DOA12, DOA11, DOA10, DOA9,
        DOA8, DOA7, DOA6, DOA5, DOA4, DOA3, DOA2, DOA1, DOA0,
    input DIB17, DIB16, DIB15, DIB14, DIB13, DIB12, DIB11, DIB10, DIB9,
        DIB8, DIB7, DIB6, DIB5, DIB4, DIB3, DIB2, DIB1, DIB0,
    input ADB13, ADB12, ADB11, ADB10, ADB9, ADB8, ADB7, ADB6, ADB5, ADB4, ADB3, ADB2, ADB1, ADB0,
    input CLKB, CEB, OCEB, WEB, RSTB, CSB2, CSB1, CSB0,
    output DOB17, DOB16, DOB15, DOB14, DOB13, DOB12, DOB11, DOB10, DOB9,
        DOB8, DOB7, DOB6, DOB5, DOB4, DOB3, DOB2, DOB1, DOB0
);
    localparam [20479:0] INIT = {
        INITVAL_3F, INITVAL_3E, INITVAL_3D, INITVAL_3C, INITVAL_3B, INITVAL_3A, INITVAL_39,
        INITVAL_38, INITVAL_37, INITVAL_36, INITVAL_35, INITVAL_34, INITVAL_33, INITVAL_32,
        INITVAL_31, INITVAL_30, INITVAL_2F, INITVAL_2E, INITVAL_2D, INITVAL_2C, INITVAL_2B,
        INITVAL_2A, INITVAL_29, INITVAL_28, INITVAL_27, INITVAL_26, INITVAL_25, INITVAL_24,
        INITVAL_23, INITVAL_22, INITVAL_21, INITVAL_20, INITVAL_1F, INITVAL_1E, INITVAL_1D,
        INITVAL_1C, INITVAL_1B, INITVAL_1A, INITVAL_19, INITVAL_18, INITVAL_17, INITVAL_16,
        INITVAL_15, INITVAL_14, INITVAL_13, INITVAL_12, INITVAL_11, INITVAL_10, INITVAL_0F,
        INITVAL_0E, INITVAL_0D, INITVAL_0C, INITVAL_0B, INITVAL_0A, INITVAL_09, INITVAL_08,
        INITVAL_07, INITVAL_06, INITVAL_05, INITVAL_04, INITVAL_03, INITVAL_02, INITVAL_01,
        INITVAL_00
    };

    function [35:0] noise();
`ifdef VERILATOR
        noise = {$random, $random};
`else
        noise = 36'bx;
`endif
    endfunction

    reg [35:0] cells [0:511];
    integer row;
    initial begin
        for (row = 0; row < 512; row = row + 1)
            cells[row] = {INIT[40 * row + 20 +: 18], INIT[40 * row +: 18]};
    end

    wire [17:0] dia = {DIA17, DIA16, DIA15, DIA14, DIA13, DIA12, DIA11, DIA10, DIA9,
        DIA8, DIA7, DIA6, DIA5, DIA4, DIA3, DIA2, DIA1, DIA0};
    wire [17:0] dib = {DIB17, DIB16, DIB15, DIB14, DIB13, DIB12, DIB11, DIB10, DIB9,
        DIB8, DIB7, DIB6, DIB5, DIB4, DIB3, DIB2, DIB1, DIB0};
    wire [8:0] word_a, word_b;
    wire [5:0] place_a, place_b;
    wire [35:0] seen_a, seen_b, aligned_a, aligned_b, written_a, written_b;
    wire shows_a, shows_b;

    dp16kd_port #(.WIDTH(DATA_WIDTH_A), .WRITEMODE(WRITEMODE_A), .CSDECODE(CSDECODE_A)) a (
        .address({ADA13, ADA12, ADA11, ADA10, ADA9, ADA8, ADA7, ADA6, ADA5, ADA4,
            ADA3, ADA2, ADA1, ADA0}),
        .data({dib, dia}), .ce(CEA), .we(WEA && !RSTA), .cs({CSA2, CSA1, CSA0}), .word(word_a),
        .place(place_a), .seen(seen_a), .aligned(aligned_a), .written(written_a),
        .shows(shows_a)
    );
    dp16kd_port #(.WIDTH(DATA_WIDTH_B), .WRITEMODE(WRITEMODE_B), .CSDECODE(CSDECODE_B)) b (
        .address({ADB13, ADB12, ADB11, ADB10, ADB9, ADB8, ADB7, ADB6, ADB5, ADB4,
            ADB3, ADB2, ADB1, ADB0}),
        .data({18'd0, dib}), .ce(CEB), .we(WEB && !RSTB), .cs({CSB2, CSB1, CSB0}), .word(word_b),
        .place(place_b), .seen(seen_b), .aligned(aligned_b), .written(written_b),
        .shows(shows_b)
    );

    wire clock_a = CLKAMUX == "INV" ? !CLKA : CLKA;
    wire clock_b = CLKBMUX == "INV" ? !CLKB : CLKB;
    wire same = word_a == word_b;
    wire clash_a = same && |(seen_a & written_b);
    wire clash_b = same && |(seen_b & written_a);
    wire [35:0] both = same ? written_a & written_b : 36'd0;
    wire async_a = RESETMODE == "ASYNC" && RSTA;
    wire async_b = RESETMODE == "ASYNC" && RSTB;
    reg [35:0] latch_a = 0, latch_b = 0, register_a = 0, register_b = 0;

    // What the other port changes meanwhile of the word that a port holds is noise, so that it does
    // not matter which of the two comes first.
    reg [35:0] held_a, held_b;

    always @(posedge clock_a or posedge async_a) begin
        if (async_a || RSTA) begin
            latch_a <= 0;
            register_a <= 0;
        end else begin
            held_a = cells[word_a];
            if (OCEA) register_a <= latch_a;
            if (shows_a === 1'bx || shows_a && clash_a !== 1'b0) latch_a <= noise();
            else if (shows_a && WRITEMODE_A == "READBEFOREWRITE")
                latch_a <= (held_a & seen_a) >> place_a;
            else if (shows_a)
                latch_a <= (held_a & seen_a & ~written_a | aligned_a & written_a)
                    >> place_a;
            if (written_a != 0)
                cells[word_a] = held_a & ~written_a | aligned_a & written_a & ~both
                    | noise() & both;
        end
    end

    always @(posedge clock_b or posedge async_b) begin
        if (async_b || RSTB) begin
            latch_b <= 0;
            register_b <= 0;
        end else begin
            held_b = cells[word_b];
            if (OCEB) register_b <= latch_b;
            if (shows_b === 1'bx || shows_b && clash_b !== 1'b0) latch_b <= noise();
            else if (shows_b && WRITEMODE_B == "READBEFOREWRITE")
                latch_b <= (held_b & seen_b) >> place_b;
            else if (shows_b)
                latch_b <= (held_b & seen_b & ~written_b | aligned_b & written_b)
                    >> place_b;
            if (written_b != 0)
                cells[word_b] = held_b & ~written_b | aligned_b & written_b & ~both
                    | noise() & both;
        end
    end

    wire [35:0] out_a = REGMODE_A == "OUTREG" ? register_a : latch_a;
    wire [35:0] out_b = REGMODE_B == "OUTREG" ? register_b : latch_b;
    assign {DOA17, DOA16, DOA15, DOA14, DOA13, DOA12, DOA11, DOA10, DOA9,
        DOA8, DOA7, DOA6, DOA5, DOA4, DOA3, DOA2, DOA1, DOA0} =
        DATA_WIDTH_B == 36 ? out_b[17:0] : out_a[17:0];
    assign {DOB17, DOB16, DOB15, DOB14, DOB13, DOB12, DOB11, DOB10, DOB9,
        DOB8, DOB7, DOB6, DOB5, DOB4, DOB3, DOB2, DOB1, DOB0} =
        DATA_WIDTH_B == 36 ? out_b[35:18] : out_b[17:0];
endmodule
/* verilator lint_on BLKSEQ */
/* verilator lint_on MULTIDRIVEN */

// Multiplier, as yosys uses it: without registers and cascades.
module MULT18X18D #(
    parameter REG_INPUTA_CLK = "NONE", parameter REG_INPUTB_CLK = "NONE",
    parameter REG_INPUTC_CLK = "NONE", parameter REG_PIPELINE_CLK = "NONE",
    parameter REG_OUTPUT_CLK = "NONE"
) (
    input A17, A16, A15, A14, A13, A12, A11, A10, A9, A8, A7, A6, A5, A4, A3, A2, A1, A0,
    input B17, B16, B15, B14, B13, B12, B11, B10, B9, B8, B7, B6, B5, B4, B3, B2, B1, B0,
    input C17, C16, C15, C14, C13, C12, C11, C10, C9, C8, C7, C6, C5, C4, C3, C2, C1, C0,
    input SIGNEDA, SIGNEDB, SOURCEA, SOURCEB,
    output P35, P34, P33, P32, P31, P30, P29, P28, P27, P26, P25, P24, P23, P22, P21, P20, P19, P18,
        P17, P16, P15, P14, P13, P12, P11, P10, P9, P8, P7, P6, P5, P4, P3, P2, P1, P0
);
    if (REG_INPUTA_CLK != "NONE" || REG_INPUTB_CLK != "NONE" || REG_INPUTC_CLK != "NONE" ||
        REG_PIPELINE_CLK != "NONE" || REG_OUTPUT_CLK != "NONE")
        mult18x18d_with_registers not_modelled();

    wire signed [18:0] left = {SIGNEDA && A17,
        A17, A16, A15, A14, A13, A12, A11, A10, A9, A8, A7, A6, A5, A4, A3, A2, A1, A0};
    wire signed [18:0] right = {SIGNEDB && B17,
        B17, B16, B15, B14, B13, B12, B11, B10, B9, B8, B7, B6, B5, B4, B3, B2, B1, B0};
    wire signed [37:0] product = left * right;
    assign {
        P35, P34, P33, P32, P31, P30, P29, P28, P27, P26, P25, P24, P23, P22, P21, P20, P19, P18,
        P17, P16, P15, P14, P13, P12, P11, P10, P9, P8, P7, P6, P5, P4, P3, P2, P1, P0
    } = product[35:0];
endmodule
