// SPDX-License-Identifier: Apache-2.0
// Queues from the edge interrupts to the loop. One producer, one consumer, indices of one byte that only their
// owner writes: no lock is needed on either side, and a queue of 64 really holds 64.
#pragma once

#include <stdint.h>

namespace core {

struct Edge {
  uint8_t overflow7;  // low 7 bits of the overflow count
  uint8_t level;
  uint16_t low;  // of the tick
};

// 3 bytes an edge: 16 bits of the tick, 7 bits of overflow count, 1 bit of level.
class EdgeQueue {
 public:
  static constexpr uint8_t kCapacity = 64;

  // Interrupt side. False when the edge found no room.
  inline __attribute__((always_inline)) bool push(uint16_t low, uint8_t overflows, bool level) {
    const uint8_t head = head_;
    if (static_cast<uint8_t>(head - tail_) >= kCapacity) return false;
    volatile uint8_t* slot = bytes_ + offset(head);
    slot[0] = static_cast<uint8_t>(low);
    slot[1] = static_cast<uint8_t>(low >> 8);
    slot[2] = static_cast<uint8_t>(static_cast<uint8_t>(overflows << 1) | (level ? 1 : 0));
    head_ = static_cast<uint8_t>(head + 1);
    return true;
  }

  // Loop side. `mark` moves with every push: two equal marks mean that nothing happened in between.
  uint8_t mark() const { return head_; }
  uint8_t pending() const { return static_cast<uint8_t>(head_ - tail_); }
  void clear() { tail_ = head_; }

  Edge pop() {
    const volatile uint8_t* slot = bytes_ + offset(tail_);
    const Edge edge = {static_cast<uint8_t>(slot[2] >> 1), static_cast<uint8_t>(slot[2] & 1),
                       static_cast<uint16_t>(slot[0] | (static_cast<uint16_t>(slot[1]) << 8))};
    tail_ = static_cast<uint8_t>(tail_ + 1);
    return edge;
  }

 private:
  // 8 bits are enough for the offset, and cheaper.
  static inline __attribute__((always_inline)) uint8_t offset(uint8_t index) {
    const uint8_t slot = index & (kCapacity - 1);
    return static_cast<uint8_t>(static_cast<uint8_t>(slot + slot) + slot);
  }

  volatile uint8_t bytes_[kCapacity * 3];
  volatile uint8_t head_;
  volatile uint8_t tail_;
};

// Sound, lid and interlock share one short queue; an entry tells the levels of all three after a change.
class SlowQueue {
 public:
  static constexpr uint8_t kCapacity = 16;

  struct Change {
    uint8_t overflow7;
    uint8_t levels;  // bit n = protocol::Channel n
    uint16_t low;
  };

  // Interrupt side. False when the change found no room.
  inline __attribute__((always_inline)) bool push(uint16_t low, uint8_t overflows, uint8_t levels) {
    const uint8_t head = head_;
    if (static_cast<uint8_t>(head - tail_) >= kCapacity) return false;
    volatile uint8_t* slot = slots_[head & (kCapacity - 1)];
    slot[0] = static_cast<uint8_t>(low);
    slot[1] = static_cast<uint8_t>(low >> 8);
    slot[2] = overflows;
    slot[3] = levels;
    head_ = static_cast<uint8_t>(head + 1);
    return true;
  }

  // Loop side: read without taking, then drop. `index` runs from tail() to mark(), modulo 256.
  uint8_t mark() const { return head_; }
  uint8_t tail() const { return tail_; }
  uint8_t pending() const { return static_cast<uint8_t>(head_ - tail_); }
  void clear() { tail_ = head_; }
  void drop(uint8_t count) { tail_ = static_cast<uint8_t>(tail_ + count); }

  uint8_t levels_at(uint8_t index) const { return slots_[index & (kCapacity - 1)][3]; }
  Change at(uint8_t index) const {
    const volatile uint8_t* slot = slots_[index & (kCapacity - 1)];
    return {static_cast<uint8_t>(slot[2] & 0x7F), slot[3],
            static_cast<uint16_t>(slot[0] | (static_cast<uint16_t>(slot[1]) << 8))};
  }

 private:
  volatile uint8_t slots_[kCapacity][4];
  volatile uint8_t head_;
  volatile uint8_t tail_;
};

}  // namespace core
