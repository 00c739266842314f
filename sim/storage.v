// SPDX-FileCopyrightText: castbag contributors
// SPDX-License-Identifier: BSD-2-Clause

// The words that a simulated memory holds, and the back doors to them, in no time at all.
//
// 2**SIZE_BITS bytes, a multiple of the word. All numbers of words are of the whole address space;
// one beyond the array reads as ones, and is not written.
module storage #(
    parameter DATA_BITS = 64,
    parameter SIZE_BITS = 16,
    parameter REGIONS = 24
);
  localparam BYTES = DATA_BITS / 8;
  localparam SHIFT = $clog2(BYTES);
  localparam WORDS = 1 << (SIZE_BITS - SHIFT);

  reg [DATA_BITS-1:0] words[0:WORDS-1];
  reg [DATA_BITS-1:0] found;  // by `read`

  // What the host has allocated, in words; nothing said, all of it.
  reg [63:0] region_first[0:REGIONS-1], region_end[0:REGIONS-1];
  integer regions;
  initial regions = 0;

  task read(input [63:0] word);
    found = word < WORDS ? words[word] : {DATA_BITS{1'b1}};
  endtask

  task write(input [63:0] word, input [DATA_BITS-1:0] data, input [BYTES-1:0] strobe);
    integer lane;
    if (word < WORDS)
      if (&strobe) words[word] = data;
      else
        for (lane = 0; lane < BYTES; lane = lane + 1)
          if (strobe[lane]) words[word][8*lane+:8] = data[8*lane+:8];
  endtask

  function allowed(input [63:0] word, input [63:0] bytes);
    integer k;
    begin
      allowed = regions == 0;
      for (k = 0; k < regions && !allowed; k = k + 1)
        allowed = word >= region_first[k] && word < region_end[k];
      if (word >= bytes >> SHIFT) allowed = 0;
    end
  endfunction

  // Allow words from `first` on, in at most REGIONS places.
  task allocate(input [63:0] first, input [63:0] count);
    begin
      if (regions == REGIONS) $fatal(1, "more than %0d regions", REGIONS);
      region_first[regions] = first;
      region_end[regions] = first + count;
      regions = regions + 1;
    end
  endtask

  // Content that nobody wrote: never zero, the same in every run.
  task fill(input [63:0] bytes);
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
