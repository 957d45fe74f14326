// SPDX-License-Identifier: Apache-2.0
// Edges and samples on their way from the interrupts' queues to the host: packed into EDGES and SAMPLES whenever the
// event ring has room, never thrown away silently.
#pragma once

#include <stdint.h>

#include "board.h"
#include "events.h"
#include "tick.h"

namespace core {

class Trial;

class Reports {
 public:
  static constexpr uint8_t kEdges = 9;  // in one EDGES
  static constexpr uint8_t kBins = 8;   // in one SAMPLES

  explicit Reports(EventRing& events) : events_(events) {}

  // A new conversation: forgets what is pending and tells the level of every channel as one EDGES each.
  void start();

  // A new trial begins with bin 0.
  void start_samples();
  // Takes a bin; false when it had to be dropped because the event ring has been full for too long.
  bool sample(const board::Bin& bin);
  // Time to pack.
  bool batch_full() const { return bin_count_ == kBins; }

  // Enough edges of one kind are pending for a full record.
  bool crowded() const;
  // Packs full batches of edges only, or everything with `all`; edges of beams are shown to the trial on the way.
  // False when something that should have gone did not fit.
  bool pack(bool all, Trial& trial);
  bool pack_samples(uint32_t trial);

  // An input changed at about `now`.
  void noticed(Slice now);
  bool waiting() const { return waiting_; }
  Slice waited(Slice now) const { return now - since_; }
  // Queued edges keep 7 bits of overflow count, 520 ms: older ones cannot be told and are dropped. How many were.
  uint8_t drop();

 private:
  void head(uint32_t trial, protocol::Channel channel, const Tick& now);
  void edge(const Tick& at, uint8_t level);
  bool pack_beam(EdgeQueue& queue, protocol::Channel channel, bool all, Trial& trial);
  bool pack_slow(bool all, Trial& trial);
  uint8_t changes(uint8_t mask, uint8_t pending) const;

  EventRing& events_;
  Slice since_ = 0;
  uint8_t bins_[kBins][3];
  uint16_t first_bin_ = 0;
  uint8_t bin_count_ = 0;
  uint8_t told_ = 0;  // levels of the slow channels as the host knows them
  bool waiting_ = false;
};

}  // namespace core
