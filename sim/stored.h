// SPDX-FileCopyrightText: castbag contributors
// SPDX-License-Identifier: BSD-2-Clause

// Stands in for lz4.h and zlib.h where Verilator's FST writer includes them, so that waves need no
// library that a machine may lack: what it has written is larger, and is read by any FST reader.
#ifndef CASTBAG_STORED_H
#define CASTBAG_STORED_H

#include <cstring>

typedef unsigned long uLong;
typedef unsigned long uLongf;
typedef unsigned char Bytef;
enum { Z_OK = 0 };

// The writer keeps the plain data unless the compressed are shorter; these are as long.
inline uLong compressBound(uLong size) { return size; }
inline int compress2(Bytef *to, uLongf *, const Bytef *from, uLong size, int) {
  std::memcpy(to, from, size);
  return Z_OK;
}

// One LZ4 sequence of literals: a token, the length in bytes of 255 and a rest, the data.
inline int LZ4_compressBound(int size) { return size + size / 255 + 16; }
inline int LZ4_compress_default(const char *from, char *to, int size, int) {
  char *out = to;
  if (size < 15) {
    *out++ = static_cast<char>(size << 4);
  } else {
    *out++ = static_cast<char>(15 << 4);
    int rest = size - 15;
    for (; rest >= 255; rest -= 255) *out++ = static_cast<char>(255);
    *out++ = static_cast<char>(rest);
  }
  std::memcpy(out, from, size);
  return static_cast<int>(out - to) + size;
}

#endif
