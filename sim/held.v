// SPDX-FileCopyrightText: castbag contributors
// SPDX-License-Identifier: BSD-2-Clause

// What a bench drives, two events later but in no time: `steady` follows `now`.
//
// A Verilator model works out all that depends on an input of its top anew at each call, twice a
// cycle, whether the input changed or not; of what is behind a reset that is most of a design.
// What is behind `steady` waits for a change: for a whole engine, that is a third of all that a
// cycle costs. It takes both events: a process that waits for a change is run in a phase of its
// own, and if it set `steady` itself, all logic behind would be compiled for that phase as well.
module held #(
    parameter WIDTH = 1
) (
    input [WIDTH-1:0] now,
    output reg [WIDTH-1:0] steady
);
  reg changed = 0;
  initial steady = now;
  initial
    forever begin
      @(now);
      changed = ~changed;
    end
  always @(posedge changed, negedge changed) steady <= now;
endmodule
