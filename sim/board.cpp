// SPDX-FileCopyrightText: castbag contributors
// SPDX-License-Identifier: BSD-2-Clause

// Runs a simulated board whose UART is a pseudo-terminal: `board CYCLES_A_BIT [DELAY]`; DELAY as in
// sdram_chip.v.
//
// Tells on standard output, a line each: `port PATH` once it can be opened; `lights N` whenever one
// changed that is not the heartbeat; `broken RULE CLOCK` before it ends because a rule of the chip
// was broken. Ends on SIGTERM. SIGUSR1 presses the button for a moment, SIGUSR2 breaks a data pin
// of the chip, or mends it.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <fcntl.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

#include "Vtop.h"
#include "verilated.h"

static volatile sig_atomic_t over = 0, pressed = 0, damaged = 0;
static void on_term(int) { over = 1; }
static void on_press(int) { pressed = 1; }
static void on_damage(int) { damaged = !damaged; }

static constexpr int BITS = 10;               // of a byte: start, eight, stop
static constexpr int POLL_CYCLES = 64;        // from one look at the terminal to the next
static constexpr int PRESS_CYCLES = 4096;     // that the button is down
static constexpr long AWAKE_CYCLES = 2000000; // without a byte, then the simulation dozes
static constexpr int DOZE_CYCLES = 2000;

static int open_terminal() {
    int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK);
    if (terminal < 0 || grantpt(terminal) || unlockpt(terminal)) {
        perror("board: no pseudo-terminal");
        exit(1);
    }
    // Held open at the other end, too, so that it stays when a host hangs up.
    int held = open(ptsname(terminal), O_RDWR | O_NOCTTY);
    termios settings;
    tcgetattr(held, &settings);
    cfmakeraw(&settings);
    tcsetattr(held, TCSANOW, &settings);
    printf("port %s\n", ptsname(terminal));
    fflush(stdout);
    return terminal;
}

// From the terminal to the board's rx, a byte at a time.
struct Sender {
    int terminal, cycles_a_bit;
    std::deque<unsigned char> waiting;
    unsigned bits = 1;
    long left = 0;  // cycles of the byte that is being sent

    bool step(long cycle) {
        if (!left && waiting.empty() && cycle % POLL_CYCLES == 0) {
            unsigned char bytes[4096];
            ssize_t count = read(terminal, bytes, sizeof bytes);
            for (ssize_t k = 0; k < count; k++) waiting.push_back(bytes[k]);
        }
        if (!left && !waiting.empty()) {
            bits = 0x200u | waiting.front() << 1;
            waiting.pop_front();
            left = long(BITS) * cycles_a_bit;
        }
        if (!left) return true;
        long sent = long(BITS) * cycles_a_bit - left--;
        return bits >> sent / cycles_a_bit & 1;
    }
};

// From the board's tx to the terminal.
struct Receiver {
    int terminal, cycles_a_bit;
    long since = -1;  // cycles since the start bit began
    unsigned bits = 0;

    bool step(bool tx) {
        if (since < 0) {
            if (tx) return false;
            since = 0;
            bits = 0;
        }
        long bit = since / cycles_a_bit;
        if (since++ % cycles_a_bit == cycles_a_bit / 2) {
            bits |= unsigned(tx) << bit;
            if (bit == BITS - 1) {
                unsigned char byte = bits >> 1;
                while (write(terminal, &byte, 1) < 0 && !over) usleep(1000);
                since = -1;
            }
        }
        return true;
    }
};

int main(int count, char **words) {
    int cycles_a_bit = count > 1 ? atoi(words[1]) : 0;
    if (cycles_a_bit < 4) {
        fprintf(stderr, "board: cycles a bit: must be at least 4\n");
        return 2;
    }
    signal(SIGTERM, on_term);
    signal(SIGUSR1, on_press);
    signal(SIGUSR2, on_damage);
    VerilatedContext context;
    context.randReset(2);
    context.commandArgs(count, words);
    Vtop top{&context};
    int terminal = open_terminal();
    Sender sender{terminal, cycles_a_bit};
    Receiver receiver{terminal, cycles_a_bit};
    top.rst = 1;
    top.rx = 1;
    top.delay = count > 2 ? atoi(words[2]) : 0;
    long button = 0, busy = 0;
    unsigned lights = ~0u;
    for (long cycle = 0; !over; cycle++) {
        top.clk = 1;
        top.eval();
        // What the board shows after the rising edge, and what it will see at the next one.
        if (receiver.step(top.tx)) busy = cycle;
        top.rst = cycle < 8;
        top.rx = sender.step(cycle);
        if (sender.left) busy = cycle;
        top.damaged = damaged;
        if (pressed) button = PRESS_CYCLES, pressed = 0;
        top.button = button > 0;
        button -= button > 0;
        top.clk = 0;
        top.eval();
        if ((top.lights & ~1u) != lights) {
            lights = top.lights & ~1u;
            printf("lights %u\n", lights);
            fflush(stdout);
        }
        if (top.broken) {
            printf("broken %u %lu\n", unsigned(top.broken), (unsigned long)top.broken_clock);
            fflush(stdout);
            return 1;
        }
        if (top.lights >> 2 & 1) busy = cycle;
        if (cycle - busy > AWAKE_CYCLES && cycle % DOZE_CYCLES == 0) usleep(1000);
    }
    return 0;
}
