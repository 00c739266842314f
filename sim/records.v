// SPDX-FileCopyrightText: castbag contributors
// SPDX-License-Identifier: BSD-2-Clause

// Writes down what passes, for castbag.sim.device to read; numbers are little-endian.
//
//   - trace.bin: the words of coalesced gradients: data, then target, then end, 32 bits each.
//   - samples.bin: counts since time 0, 64 bits each, in castbag.sim.activity's order: when the
//     phases that run change, and now and then between, ever more seldom. The phases written down
//     are those that run from then on.
//   - requests.bin, if `record`: each burst that is taken: cycle, then address with bit 63 set for
//     a write, then beats; 64 bits each.
module records #(
    parameter ADDRESS_BITS = 32,
    parameter DATA_BITS = 64,
    parameter INDEX_BITS = 16,
    parameter PHASES = 5,
    parameter EVENTS = 48,
    parameter READ_PORTS = 1,
    parameter LOOKUP_EVENT = 0,
    parameter DRAM_COUNTS = 16
) (
    input clk,
    input rst,
    input [PHASES-1:0] active,
    input [EVENTS-1:0] events,
    input trace_valid,
    input [INDEX_BITS-1:0] trace_target,
    input [DATA_BITS-1:0] trace_data,
    input trace_end,
    input record,
    input [READ_PORTS*ADDRESS_BITS-1:0] araddr,
    input [READ_PORTS*8-1:0] arlen,
    input [READ_PORTS-1:0] arvalid,
    input [READ_PORTS-1:0] arready,
    input [READ_PORTS-1:0] rvalid,
    input [READ_PORTS-1:0] rready,
    input [ADDRESS_BITS-1:0] awaddr,
    input [7:0] awlen,
    input awvalid,
    input awready,
    input wvalid,
    input wready,
    input [64*DRAM_COUNTS-1:0] dram,
    output reg [31:0] traced,
    output reg [31:0] sampled,
    output reg [31:0] requested,
    output [63:0] looked_up
);
  localparam FIRST_INTERVAL = 32, PER_INTERVAL = 512;

  integer trace, samples, requests;
  wire [31:0] end_word = trace_end, target_word = trace_target;
  reg [63:0] address, beats;

  reg [63:0] cycle;
  reg [63:0] counts[0:EVENTS-1];
  reg [63:0] awaited, read_refused, write_refused, data_refused;
  reg [31:0] on_their_way;  // beats that were asked for
  reg [PHASES-1:0] were_active;
  reg [31:0] interval, until_next, of_interval;
  integer k;
  assign looked_up = counts[LOOKUP_EVENT];

  initial begin
    trace = $fopen("trace.bin", "wb");
    samples = $fopen("samples.bin", "wb");
    requests = $fopen("requests.bin", "wb");
    {traced, sampled, requested, cycle, on_their_way, were_active} = 0;
    {awaited, read_refused, write_refused, data_refused} = 0;
    for (k = 0; k < EVENTS; k = k + 1) counts[k] = 0;
    {until_next, of_interval} = 0;
    interval = FIRST_INTERVAL;
  end

  task sample;
    begin
      $fwrite(samples, "%u%u", cycle, {{64 - PHASES{1'b0}}, active});
      $fwrite(samples, "%u%u", awaited, read_refused);
      $fwrite(samples, "%u%u", write_refused, data_refused);
      $fwrite(samples, "%u", dram);
      for (k = 0; k < EVENTS; k = k + 1) $fwrite(samples, "%u", counts[k]);
      sampled = sampled + 1;
    end
  endtask

  task request;
    begin
      $fwrite(requests, "%u%u%u", cycle, address, beats);
      requested = requested + 1;
    end
  endtask

  // On the falling edge all is steady that the rising edge before has set.
  always @(negedge clk)
    if (rst) begin
      on_their_way = 0;
      were_active = 0;
    end else begin
      until_next = until_next - 1;
      if (active != were_active || (active != 0 && until_next == 0)) begin
        if (were_active == 0) begin
          interval = FIRST_INTERVAL;
          of_interval = 0;
        end
        of_interval = of_interval + 1;
        if (of_interval == PER_INTERVAL) begin
          interval = 2 * interval;
          of_interval = 0;
        end
        until_next = interval;
        sample;
        were_active = active;
      end

      cycle = cycle + 1;
      if (events != 0)
        for (k = 0; k < EVENTS; k = k + 1) if (events[k]) counts[k] = counts[k] + 1;
      if ((arvalid & ~arready) != 0) read_refused = read_refused + 1;
      if (awvalid && !awready) write_refused = write_refused + 1;
      if (wvalid && !wready) data_refused = data_refused + 1;
      if (on_their_way != 0 && rvalid == 0) awaited = awaited + 1;
      for (k = 0; k < READ_PORTS; k = k + 1) begin
        if (arvalid[k] && arready[k]) begin
          address = araddr[k*ADDRESS_BITS+:ADDRESS_BITS];
          beats = arlen[k*8+:8] + 1;
          on_their_way = on_their_way + beats;
          if (record) request;
        end
        if (rvalid[k] && rready[k]) on_their_way = on_their_way - 1;
      end

      if (trace_valid) begin
        $fwrite(trace, "%u", {end_word, target_word, trace_data});
        traced = traced + 1;
      end
      if (record && awvalid && awready) begin
        address = 64'h8000000000000000 | awaddr;
        beats = awlen + 1;
        request;
      end
    end
endmodule
