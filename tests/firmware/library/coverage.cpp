// SPDX-License-Identifier: Apache-2.0
// Tells libFuzzer how often each edge of the core was taken, and what was compared. gcc calls one function at each edge
// where libFuzzer wants counters. Python's libFuzzer cannot be found by name from here, so it is handed in.
#include <dlfcn.h>
#include <stdint.h>

namespace {

uint8_t counters[1 << 15];

template <typename Function>
Function* find(void* library, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}

template <typename Value>
struct Compare {
  static void (*told)(Value, Value), (*told_constant)(Value, Value);
};
template <typename Value>
void (*Compare<Value>::told)(Value, Value) = nullptr;
template <typename Value>
void (*Compare<Value>::told_constant)(Value, Value) = nullptr;

template <typename Value>
void find_compare(void* library, const char* name, const char* name_constant) {
  Compare<Value>::told = find<void(Value, Value)>(library, name);
  Compare<Value>::told_constant = find<void(Value, Value)>(library, name_constant);
}

}  // namespace

extern "C" {

// False when `library`, from dlopen(), is no libFuzzer.
bool guide(void* library) {
  find_compare<uint8_t>(library, "__sanitizer_cov_trace_cmp1", "__sanitizer_cov_trace_const_cmp1");
  find_compare<uint16_t>(library, "__sanitizer_cov_trace_cmp2", "__sanitizer_cov_trace_const_cmp2");
  find_compare<uint32_t>(library, "__sanitizer_cov_trace_cmp4", "__sanitizer_cov_trace_const_cmp4");
  const auto start = find<void(uint8_t*, uint8_t*)>(library, "__sanitizer_cov_8bit_counters_init");
  if (!start) return false;
  start(counters, counters + sizeof counters);
  return true;
}

// The library is loaded at another page each time: counted from its start, an edge keeps its counter.
void __sanitizer_cov_trace_pc() {
  extern const char __ehdr_start;
  const uintptr_t at = reinterpret_cast<uintptr_t>(__builtin_return_address(0)) - reinterpret_cast<uintptr_t>(&__ehdr_start);
  uint8_t& counter = counters[at % sizeof counters];
  if (counter != 0xFF) ++counter;
}

#define COMPARE(BYTES, VALUE)                                             \
  void __sanitizer_cov_trace_cmp##BYTES(VALUE a, VALUE b) {               \
    if (Compare<VALUE>::told) Compare<VALUE>::told(a, b);                 \
  }                                                                       \
  void __sanitizer_cov_trace_const_cmp##BYTES(VALUE a, VALUE b) {         \
    if (Compare<VALUE>::told_constant) Compare<VALUE>::told_constant(a, b); \
  }
COMPARE(1, uint8_t)
COMPARE(2, uint16_t)
COMPARE(4, uint32_t)

// The tests' own ledger reckons in fractions of milliseconds, which are no bytes of a frame.
void __sanitizer_cov_trace_cmpd(double, double) {}

}  // extern "C"
