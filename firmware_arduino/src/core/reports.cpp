// SPDX-License-Identifier: Apache-2.0
// One record is one channel; the order within a channel is the order of the edges.
#include "reports.h"

#include "trial.h"

namespace core {

using protocol::Channel;
using protocol::Type;

namespace {
constexpr uint8_t kRecord = protocol::edges_at::size + EventRing::kOverhead;  // without its edges
// A bin waits for room for 10 ms at most, an edge for much longer: samples keep their place in the ring.
constexpr uint8_t kBatchRecord = protocol::samples_at::size + 3 * Reports::kBins + EventRing::kOverhead;
static_assert(SlowQueue::kCapacity <= 2 * Reports::kEdges, "all changes of one slow input fit two records");
}  // namespace

void Reports::start() {
  uint8_t levels;
  {
    const board::Lock lock;  // the levels belong to the moment at which the queues were emptied
    board::beam_a.clear();
    board::beam_b.clear();
    board::slow.clear();
    levels = board::settled();
  }
  told_ = levels;
  waiting_ = false;
  bin_count_ = 0;
  const Tick now = board::now();
  for (uint8_t channel = 0; channel < protocol::kChannelCount; ++channel) {
    if (!events_.begin(Type::EDGES, protocol::edges_at::size + 4)) return;  // the ring is empty: they all fit
    head(0, static_cast<Channel>(channel), now);
    edge(now, (levels >> channel) & 1);
  }
}

void Reports::start_samples() {
  first_bin_ = 0;
  bin_count_ = 0;
}

// 12 bits of current, 10 of voltage, 2 of flags.
bool Reports::sample(const board::Bin& bin) {
  if (batch_full()) return false;
  uint8_t* to = bins_[bin_count_++];
  to[0] = static_cast<uint8_t>(bin.current_sum);
  to[1] = static_cast<uint8_t>((bin.current_sum >> 8) | ((bin.voltage & 0x0F) << 4));
  to[2] = static_cast<uint8_t>((bin.voltage >> 4) | (bin.flags << 6));
  return true;
}

bool Reports::pack_samples(uint32_t trial) {
  if (bin_count_ == 0) return true;
  if (!events_.begin(Type::SAMPLES, static_cast<uint8_t>(protocol::samples_at::size + 3 * bin_count_))) return false;
  events_.put32(trial);
  events_.put16(first_bin_);
  for (uint8_t n = 0; n < bin_count_; ++n) {
    for (uint8_t byte = 0; byte < 3; ++byte) events_.put8(bins_[n][byte]);
  }
  first_bin_ = static_cast<uint16_t>(first_bin_ + bin_count_);
  bin_count_ = 0;
  return true;
}

void Reports::head(uint32_t trial, Channel channel, const Tick& now) {
  events_.put32(trial);
  events_.put8(static_cast<uint8_t>(channel));
  events_.put_tick(now);
}

void Reports::edge(const Tick& at, uint8_t level) {
  events_.put16(static_cast<uint16_t>((at.low << 1) | level));
  events_.put16(static_cast<uint16_t>((at.overflows << 1) | (at.low >> 15)));
}

bool Reports::pack_beam(EdgeQueue& queue, Channel channel, bool all, Trial& trial) {
  for (;;) {
    uint8_t count = queue.pending();
    if (count == 0 || (!all && count < kEdges)) return true;
    if (count > kEdges) count = kEdges;
    if (trial.observing() && events_.room() < kRecord + 4 * count + kBatchRecord) return false;
    if (!events_.begin(Type::EDGES, static_cast<uint8_t>(protocol::edges_at::size + 4 * count))) return false;
    const Tick now = board::now();
    head(trial.number(), channel, now);
    for (; count; --count) {
      const Edge next = queue.pop();
      const Tick at = extend(now, next.overflow7, next.low);
      edge(at, next.level);
      trial.beam(channel, next.level, at);
    }
  }
}

uint8_t Reports::changes(uint8_t mask, uint8_t pending) const {
  uint8_t count = 0, level = told_ & mask;
  for (uint8_t n = 0; n < pending; ++n) {
    const uint8_t next = board::slow.levels_at(static_cast<uint8_t>(board::slow.tail() + n)) & mask;
    if (next != level) ++count;
    level = next;
  }
  return count;
}

// The three channels leave the queue together, so all their records must fit.
bool Reports::pack_slow(bool all, Trial& trial) {
  SlowQueue& queue = board::slow;
  const uint8_t pending = queue.pending();
  if (pending == 0 || (!all && pending < kEdges)) return true;

  constexpr uint8_t kFirst = static_cast<uint8_t>(Channel::sound);
  uint8_t counts[protocol::kChannelCount - kFirst];
  uint16_t needed = 0;
  for (uint8_t n = 0; n < sizeof counts; ++n) {
    counts[n] = changes(static_cast<uint8_t>(1u << (kFirst + n)), pending);
    needed = static_cast<uint16_t>(needed + 4 * counts[n]);
    if (counts[n]) needed += kRecord;
    if (counts[n] > kEdges) needed += kRecord;
  }
  if (needed > events_.room()) return false;

  const Tick now = board::now();
  for (uint8_t n = 0; n < sizeof counts; ++n) {
    const uint8_t mask = static_cast<uint8_t>(1u << (kFirst + n));
    uint8_t left = counts[n], in_record = 0, level = told_ & mask;
    for (uint8_t index = queue.tail(); left; ++index) {
      const SlowQueue::Change change = queue.at(index);
      if ((change.levels & mask) == level) continue;
      level = change.levels & mask;
      if (in_record == 0) {
        in_record = left < kEdges ? left : kEdges;
        events_.begin(Type::EDGES, static_cast<uint8_t>(protocol::edges_at::size + 4 * in_record));
        head(trial.number(), static_cast<Channel>(kFirst + n), now);
      }
      edge(extend(now, change.overflow7, change.low), level != 0);
      --in_record;
      --left;
    }
  }
  told_ = queue.levels_at(static_cast<uint8_t>(queue.tail() + pending - 1));
  queue.drop(pending);
  return true;
}

bool Reports::crowded() const {
  return board::beam_a.pending() >= kEdges || board::beam_b.pending() >= kEdges || board::slow.pending() >= kEdges;
}

bool Reports::pack(bool all, Trial& trial) {
  // No short cut between the three: a full ring may still take a shorter record.
  const bool a = pack_beam(board::beam_a, Channel::beam_a, all, trial);
  const bool b = pack_beam(board::beam_b, Channel::beam_b, all, trial);
  const bool slow = pack_slow(all, trial);
  const bool everything = a && b && slow;
  if (all && everything) waiting_ = false;
  return everything;
}

void Reports::noticed(Slice now) {
  waiting_ = true;
  since_ = now;
}

uint8_t Reports::drop() {
  const uint8_t dropped =
      static_cast<uint8_t>(board::beam_a.pending() + board::beam_b.pending() + board::slow.pending());
  board::beam_a.clear();
  board::beam_b.clear();
  told_ = board::settled();
  board::slow.clear();
  waiting_ = false;
  return dropped;
}

}  // namespace core
