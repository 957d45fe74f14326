// SPDX-License-Identifier: GPL-3.0-or-later
// The AVR half of the twin: runs the very ELF that is flashed, in lockstep with a plant on the far side of a pipe.
// Whatever libsimavr 1.6 gets wrong is mended here and nowhere else; row numbers refer to the twin's page in docs/.
// It links to libsimavr, which is GPL-3, and therefore stays a process of its own.
//
// Requests on stdin, replies on stdout, both little-endian: u32 length, then the body. A request is a row of
// operations (see `enum op`); the last one may be one that is answered. The process ends when stdin is closed.

#define _GNU_SOURCE
#define FIFO_SYNC  // simavr's queues are used by one thread here; a memory barrier per access is pure cost
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <simavr/avr_adc.h>
#include <simavr/avr_eeprom.h>
#include <simavr/avr_extint.h>
#include <simavr/avr_flash.h>
#include <simavr/avr_ioport.h>
#include <simavr/avr_timer.h>
#include <simavr/avr_uart.h>
#include <simavr/avr_watchdog.h>
#include <simavr/sim_avr.h>
#include <simavr/sim_core.h>
#include <simavr/sim_elf.h>
#include <simavr/sim_interrupts.h>

DEFINE_FIFO(avr_int_vector_p, avr_int_pending);

#define NEVER UINT64_MAX
#define COUNT(table) (sizeof(table) / sizeof((table)[0]))
#define BIT(n) (1u << (n))

enum {
  CYCLE_HZ = 16000000,
  SUPPLY_MV = 5000,
  EEPROM_BYTES = 1024,
  PIN_COUNT = 20,
  VECTOR_COUNT = 26,
  CAPTURE_VECTOR = 10,        // TIMER1_CAPT
  ADC_CHANNELS = 8,
  TX_PENDING_MAX = 256,       // bytes after which a run ends even though no frame has
  HOST_BYTE_CYCLES = 1360,    // 8N1 at 115200 as the AVR makes it; used while the receiver is not set up
  WDT_CYCLES_PER_TICK = 125,  // 128 kHz oscillator
  WDT_FIRST_TICKS = 2048,     // shortest time-out, 16 ms
  EEPROM_WRITE_CYCLES = 54400,  // 3.4 ms: erase and write
  EEPROM_HALF_CYCLES = 28800,   // 1.8 ms: erase only or write only
  PAGE_BYTES = 128,             // of flash
  PAGE_CYCLES = 65600,          // 4.1 ms: to erase a page or to write one; the data sheet has 3.7 to 4.5
  NRWW_START = 0x7000,          // from here on the CPU stands still meanwhile; below, it goes on
  LONGEST_BATCH = 160000,     // cycles
  TIMED_WINDOW_CYCLES = 4 + 2,  // four cycles after an instruction that itself takes up to two
  INTERRUPT_CYCLES = 4,       // to push the program counter; simavr charges none
  WAKE_CYCLES = 4,            // more, when the interrupt ends a sleep
};

// Data-space addresses of the registers that are shimmed (ATmega328P).
enum {
  PINB = 0x23, PINC = 0x26, PIND = 0x29,  // each followed by DDR and PORT
  TIFR0 = 0x35, TIFR1, TIFR2,
  PCIFR = 0x3B, EIFR, EIMSK,
  EECR = 0x3F, EEDR, EEARL, EEARH, GTCCR, TCCR0A, TCCR0B, TCNT0, OCR0A, OCR0B,
  ACSR = 0x50, SMCR = 0x53, MCUSR = 0x54,
  WDTCSR = 0x60, CLKPR, PCICR = 0x68,
  TIMSK0 = 0x6E, TIMSK1, TIMSK2,
  ADCL = 0x78, ADCH, ADCSRA, ADCSRB, ADMUX,
  TCCR1A = 0x80, TCCR1B, TCNT1L = 0x84, ICR1L = 0x86, OCR1AL = 0x88, OCR1BL = 0x8A,
  TCCR2A = 0xB0, TCCR2B, TCNT2, OCR2A, OCR2B, ASSR = 0xB6, TWCR = 0xBC,
  UCSR0A = 0xC0, UCSR0B, UCSR0C, UBRR0L = 0xC4, UBRR0H, UDR0,
  SPCR = 0x4C, SPMCSR = 0x57,
  RAM_START = 0x100,
};

enum { PORF = BIT(0), EXTRF = BIT(1), WDRF = BIT(3) };
enum { WDIF = BIT(7), WDIE = BIT(6), WDP3 = BIT(5), WDCE = BIT(4), WDE = BIT(3), WDP210 = 7 };
enum { EERE = BIT(0), EEPE = BIT(1), EEMPE = BIT(2), EERIE = BIT(3) };
enum { ADEN = BIT(7), ADSC = BIT(6), ADATE = BIT(5), ADIF = BIT(4), ADIE = BIT(3) };
enum { RXC = BIT(7), TXC = BIT(6), UDRE = BIT(5), FE = BIT(4), DOR = BIT(3), U2X = BIT(1), MPCM = BIT(0) };
enum { RXCIE = BIT(7), TXCIE = BIT(6), UDRIE = BIT(5), RXEN = BIT(4), TXEN = BIT(3), UCSZ2 = BIT(2) };

static avr_t *avr;

// ---------------------------------------------------------------- the board

static const struct pin {
  const char *name, *signal;
  char port;
  uint8_t bit;
  uint8_t pulled_down;  // the gates of every output are
} PINS[PIN_COUNT] = {
    {"D0", "rx", 'D', 0, 0},         {"D1", "tx", 'D', 1, 0},        {"D2", "beam_b", 'D', 2, 0},
    {"D3", "roller", 'D', 3, 1},     {"D4", "reverse", 'D', 4, 1},   {"D5", "slot1", 'D', 5, 1},
    {"D6", "slot2", 'D', 6, 1},      {"D7", "slot3", 'D', 7, 1},     {"D8", "beam_a", 'B', 0, 0},
    {"D9", "slot4", 'B', 1, 1},      {"D10", "slot5", 'B', 2, 1},    {"D11", "slot6", 'B', 3, 1},
    {"D12", "reset", 'B', 4, 1},     {"D13", "sound", 'B', 5, 0},    {"A0", "current", 'C', 0, 0},
    {"A1", "voltage", 'C', 1, 0},    {"A2", "launch", 'C', 2, 1},    {"A3", "interlock", 'C', 3, 0},
    {"A4", "lid", 'C', 4, 0},        {"A5", "power", 'C', 5, 1},
};
enum { PIN_RX = 0, PIN_TX = 1 };

// Output-compare pins, by which PWM reaches a pin.
static const struct oc {
  uint8_t pin, timer, comp, tccra, tccrb, com_shift, ocr;
} OCS[] = {
    {6, 0, 0, TCCR0A, TCCR0B, 6, OCR0A},  {5, 0, 1, TCCR0A, TCCR0B, 4, OCR0B},
    {9, 1, 0, TCCR1A, TCCR1B, 6, OCR1AL}, {10, 1, 1, TCCR1A, TCCR1B, 4, OCR1BL},
    {11, 2, 0, TCCR2A, TCCR2B, 6, OCR2A}, {3, 2, 1, TCCR2A, TCCR2B, 4, OCR2B},
};


static avr_ioport_t *port_of[PIN_COUNT];
static avr_timer_t *timer_io[3];
static avr_uart_t *uart_io;
static avr_adc_t *adc_io;
static avr_eeprom_t *eeprom_io;
static avr_watchdog_t *watchdog_io;
static uint8_t *eeprom;

static struct { avr_io_write_t c; void *param; avr_io_read_t r; void *r_param; } original[MAX_IOs];

// ---------------------------------------------------------------- growing arrays and reports

struct bytes { uint8_t *at; size_t n, room; };

static void *grow(void *at, size_t *room, size_t want, size_t size) {
  if (want <= *room) return at;
  while (*room < want) *room = *room ? *room * 2 : 64;
  at = realloc(at, *room * size);
  if (!at) { fprintf(stderr, "avrtwin: out of memory\n"); exit(1); }
  return at;
}

static void put(struct bytes *b, const void *data, size_t n) {
  b->at = grow(b->at, &b->room, b->n + n, 1);
  memcpy(b->at + b->n, data, n);
  b->n += n;
}
#define PUT(b, type, value) do { type put_ = (type)(value); put(b, &put_, sizeof put_); } while (0)

static struct report {  // what has happened since the last RUN was answered
  struct bytes outputs, tx, resets, unmodelled;
  uint16_t output_n, reset_n, unmodelled_n;
} report;

static struct stats {
  uint64_t asleep, exchanges;
  uint64_t turns;         // of the main loop: what speed is paid with
  uint64_t naps, echoes;  // times that libsimavr would put this process to sleep, or prints what the AVR sends
  uint32_t longest_off, rx_overruns, eeprom_writes;
  uint32_t vector_longest[VECTOR_COUNT], vector_runs[VECTOR_COUNT];
  uint16_t min_sp;
} stats;

static int stop;   // ends the current run
static int audit;  // one instruction at a time, for exact statistics
static int raw;    // libsimavr as it comes, with none of the shims

// The core runs instructions by itself until a count of cycles is used up; this ends that after the current one.
static void come_back(void) { avr->run_cycle_count = 1; }

static void unmodelled(const char *what) {
  static const char *said[64];
  static size_t n;
  for (size_t i = 0; i < n; i++)
    if (!strcmp(said[i], what)) return;
  if (n < COUNT(said)) said[n++] = what;
  fprintf(stderr, "UNMODELLED: %s\n", what);
  PUT(&report.unmodelled, uint16_t, strlen(what));
  put(&report.unmodelled, what, strlen(what));
  report.unmodelled_n++;
}

// ---------------------------------------------------------------- VCD: pins at exact cycles, timescale 100 ps

static FILE *vcd;
static struct change { uint64_t cycle; uint8_t pin; char level; } *vcd_held;  // sorted by cycle, not written yet
static size_t vcd_n, vcd_room;
static char vcd_last[PIN_COUNT];  // as written
static char vcd_next[PIN_COUNT];  // as held
static uint64_t vcd_time = NEVER;

static void vcd_write_until(uint64_t cycle) {
  size_t i = 0;
  for (; i < vcd_n && vcd_held[i].cycle <= cycle; i++) {
    const struct change *c = &vcd_held[i];
    size_t later = i + 1;  // of several changes in one cycle the last one counts
    while (later < vcd_n && vcd_held[later].cycle == c->cycle && vcd_held[later].pin != c->pin) later++;
    const int superseded = later < vcd_n && vcd_held[later].cycle == c->cycle;
    if (superseded || vcd_last[c->pin] == c->level) continue;
    if (vcd_time != c->cycle) fprintf(vcd, "#%llu\n", (unsigned long long)(vcd_time = c->cycle) * 625);
    fprintf(vcd, "%c%c\n", vcd_last[c->pin] = c->level, '!' + c->pin);
  }
  memmove(vcd_held, vcd_held + i, (vcd_n -= i) * sizeof *vcd_held);
}

static void vcd_put(uint64_t cycle, int pin, int level) {
  if (!vcd) return;
  vcd_held = grow(vcd_held, &vcd_room, vcd_n + 1, sizeof *vcd_held);
  size_t i = vcd_n++;
  for (; i && vcd_held[i - 1].cycle > cycle; i--) vcd_held[i] = vcd_held[i - 1];
  vcd_held[i] = (struct change){cycle, pin, level};
  if (vcd_n > 4096) vcd_write_until(avr->cycle);
}

static void vcd_frame(int pin, uint8_t byte, uint64_t start, uint64_t byte_cycles) {
  if (!vcd) return;
  const unsigned bits = (byte | 0x100u) << 1;  // start bit, eight data bits, stop bit
  for (unsigned k = 0; k < 10; k++) vcd_put(start + byte_cycles * k / 10, pin, '0' + (bits >> k & 1));
}

static void vcd_open(const char *path) {
  vcd = fopen(path, "w");
  if (!vcd) return;
  fprintf(vcd, "$version launchrig avrtwin $end\n$timescale 100 ps $end\n$scope module pins $end\n");
  for (int i = 0; i < PIN_COUNT; i++) fprintf(vcd, "$var wire 1 %c %s $end\n", '!' + i, PINS[i].name);
  fprintf(vcd, "$upscope $end\n$scope module signals $end\n");
  for (int i = 0; i < PIN_COUNT; i++) fprintf(vcd, "$var wire 1 %c %s $end\n", '!' + i, PINS[i].signal);
  fprintf(vcd, "$upscope $end\n$enddefinitions $end\n");
}

static void vcd_close(void) {
  if (!vcd) return;
  vcd_write_until(avr->cycle);
  fprintf(vcd, "#%llu\n", (unsigned long long)avr->cycle * 625);
  fclose(vcd);
  vcd = NULL;
}

// ---------------------------------------------------------------- what happens next

static struct edge { uint64_t cycle; uint8_t pin, level; } *edges;  // sorted; edge_at is the next one
static size_t edge_at, edge_n, edge_room;

static struct { uint8_t byte, broken; } *line;  // bytes that the host has sent and that are not yet received
static size_t line_at, line_n, line_room;

static struct {
  uint8_t fifo[3], broken[3], waiting;  // two received bytes, and one that waits in the shift register
  uint64_t rx_end;                      // when the byte on the wire is complete
  uint64_t tx_end;
  uint8_t shift, buffer, buffered;
} uart = {.rx_end = NEVER, .tx_end = NEVER};

static struct { uint64_t sample_at, end; uint16_t value, sample; uint8_t first, locked; } adc = {.sample_at = NEVER, .end = NEVER};
static struct { uint64_t end, open_until; } ee = {NEVER, 0};
static struct { uint64_t restart, due, open_until; } wdt = {0, NEVER, 0};

static uint64_t due = NEVER;  // the next event of ours; simavr's timers have their own list

static void reschedule(void) {
  const uint64_t next[] = {uart.rx_end, uart.tx_end, adc.sample_at, adc.end, ee.end, wdt.due};
  due = edge_at < edge_n ? edges[edge_at].cycle : NEVER;
  for (size_t i = 0; i < COUNT(next); i++)
    if (next[i] < due) due = next[i];
  come_back();
}

// ---------------------------------------------------------------- pins

static struct { uint8_t driven, level; } input[PIN_COUNT];
static double output_value[PIN_COUNT];
static uint8_t pwm_on[PIN_COUNT];
static int in_reload;  // simavr raises a PWM pin when its OCR is written; silicon waits for the overflow

static int reg(int address) { return avr->data[address]; }
static int reg16(int address) { return avr->data[address] | avr->data[address + 1] << 8; }

// The level that the outside gives a pin when the AVR does not drive it: 0, 1, or -1 for none.
static int outside(int i) { return input[i].driven ? input[i].level : PINS[i].pulled_down ? 0 : -1; }

// Row 6: without this, any PORT write makes a driven input with pull-up read 1.
static void set_external(int i) {
  const int level = outside(i);
  if (level < 0) return;
  port_of[i]->external.pull_mask |= BIT(PINS[i].bit);
  port_of[i]->external.pull_value &= ~BIT(PINS[i].bit);
  port_of[i]->external.pull_value |= level << PINS[i].bit;
}

static int is_output(int i) { return reg(port_of[i]->r_ddr) >> PINS[i].bit & 1; }

// Duty of fast and phase-correct modes, 0 to 1; -1 when the pin is not in a PWM mode (datasheet, tables 14-8, 15-4, 17-8).
static double pwm_duty(const struct oc *oc) {
  const int com = reg(oc->tccra) >> oc->com_shift & 3;
  if (!com || !(reg(oc->tccrb) & 7)) return -1;
  const int wgm = (reg(oc->tccra) & 3) | (oc->timer == 1 ? reg(TCCR1B) >> 1 & 12 : reg(oc->tccrb) >> 1 & 4);
  const int ocra = oc->timer == 0 ? reg(OCR0A) : oc->timer == 1 ? reg16(OCR1AL) : reg(OCR2A);
  const int ocr = oc->timer == 1 ? reg16(oc->ocr) : reg(oc->ocr);
  int top, fast;
  if (oc->timer == 1) {
    static const int tops[16] = {0, 255, 511, 1023, 0, 255, 511, 1023, -2, -1, -2, -1, 0, 0, -2, -1};
    top = tops[wgm] == -1 ? ocra : tops[wgm] == -2 ? reg16(ICR1L) : tops[wgm];
    fast = (wgm & 4) != 0;
    if (wgm < 5 || wgm > 7) unmodelled("a compare output of Timer1 in another mode than fast PWM with 8, 9 or 10 bits: "
                                       "its duty is reported, its edges are not");
  } else {
    static const int tops[8] = {0, 255, 0, 255, 0, -1, 0, -1};
    top = tops[wgm] < 0 ? ocra : tops[wgm];
    fast = (wgm & 2) != 0;
    if (wgm != 3) unmodelled("a compare output of Timer0 or Timer2 in another mode than fast PWM (WGM 3): "
                             "its duty is reported, its edges are not");
  }
  if (com == 1) unmodelled("a compare output that toggles");
  if (!top || com == 1) return -1;
  const double duty = ocr > top ? 1 : fast ? (ocr + 1.0) / (top + 1.0) : (double)ocr / top;
  return com == 2 ? duty : 1 - duty;
}

static double pin_value(int i) {
  pwm_on[i] = 0;
  if (!is_output(i) || (i == PIN_TX && reg(UCSR0B) & TXEN)) return 0;
  for (size_t k = 0; k < COUNT(OCS); k++)
    if (OCS[k].pin == i) {
      const double duty = pwm_duty(&OCS[k]);
      if (duty >= 0) return pwm_on[i] = 1, duty;
    }
  return reg(port_of[i]->r_port) >> PINS[i].bit & 1;
}

static void vcd_pins(void) {
  for (int i = PIN_TX + 1; i < PIN_COUNT; i++) {
    if (pwm_on[i]) { vcd_next[i] = 0; continue; }
    const int level = is_output(i) ? reg(port_of[i]->r_port) >> PINS[i].bit & 1 : outside(i);
    const int pull_up = reg(port_of[i]->r_port) >> PINS[i].bit & 1;
    const char shown = level >= 0 ? '0' + level : pull_up ? '1' : 'z';
    if (vcd_next[i] != shown) vcd_put(avr->cycle, i, vcd_next[i] = shown);
  }
}

static void report_output(int i, double value) {
  PUT(&report.outputs, uint64_t, avr->cycle);
  PUT(&report.outputs, uint8_t, i);
  PUT(&report.outputs, double, value);
  report.output_n++;
  stop = 1;
  come_back();
}

static void refresh_outputs(void) {
  for (int i = 0; i < PIN_COUNT; i++) {
    const double value = pin_value(i);
    if (value != output_value[i]) report_output(i, output_value[i] = value);
  }
  if (vcd) vcd_pins();
}

static void on_pwm_edge(avr_irq_t *irq, uint32_t value, void *param) {
  (void)irq;
  const int i = (int)(intptr_t)param;
  if (pwm_on[i] && !(in_reload && value & 1)) vcd_put(avr->cycle, i, '0' + (value & 1));  // row 8: mask
}

static void set_input(int i, int level) {
  input[i].driven = 1;
  input[i].level = level;
  set_external(i);
  if (!is_output(i)) avr_raise_irq(port_of[i]->io.irq + PINS[i].bit, level);
  if (vcd) vcd_pins();
}

// ---------------------------------------------------------------- register shims

static void pass(avr_io_addr_t address, uint8_t v) {
  const int a = AVR_DATA_TO_IO(address);
  if (original[a].c) original[a].c(avr, address, v, original[a].param);
  else avr->data[address] = v;
  come_back();  // it may have set a timer
}

static uint8_t read_passed(avr_io_addr_t address) {
  const int a = AVR_DATA_TO_IO(address);
  return original[a].r ? original[a].r(avr, address, original[a].r_param) : avr->data[address];
}

// SBI touches one bit on this part, flag and PIN registers included; simavr reads and writes back all eight.
static uint8_t written_bits(avr_io_addr_t address, uint8_t v) {
  const int opcode = avr->flash[avr->pc] | avr->flash[avr->pc + 1] << 8;
  const int is_sbi = (opcode & 0xFF00) == 0x9A00 && (opcode >> 3 & 31) + 32 == address;
  return is_sbi ? BIT(opcode & 7) : v;
}

#define HANDLER(name) static void name(avr_t *avr_, avr_io_addr_t address, uint8_t v, void *param)
#define UNUSED (void)avr_, (void)address, (void)v, (void)param

// Parking. Timer0 and Timer2 cost an event for every overflow and match although nobody may be looking: 16,000 a second
// for a PWM clock that idles. A parked one has no events; its count and flags are worked out when they are read.
static struct { uint8_t parked; uint64_t known; } parking[3];

static uint64_t events_by(uint64_t cycle, const avr_timer_t *t, uint64_t after_base) {
  return cycle < t->tov_base + after_base ? 0 : (cycle - t->tov_base - after_base) / t->tov_cycles + 1;
}

static void catch_up(int n) {
  avr_timer_t *t = timer_io[n];
  if (!parking[n].parked) return;
  const uint64_t now = avr->cycle, before = parking[n].known;
  parking[n].known = now;
  if (events_by(now, t, t->tov_cycles) > events_by(before, t, t->tov_cycles)) avr_raise_interrupt(avr, &t->overflow);
  for (int c = 0; c < 2; c++) {
    const uint64_t match = t->comp[c].comp_cycles;
    if (match && events_by(now, t, match) > events_by(before, t, match)) avr_raise_interrupt(avr, &t->comp[c].interrupt);
  }
  t->tov_base += (now - t->tov_base) / t->tov_cycles * t->tov_cycles;
}

static void unpark(int n) {
  if (!parking[n].parked) return;
  catch_up(n);
  parking[n].parked = 0;
  avr_ioctl(avr, AVR_IOCTL_TIMER_SET_TRACE(timer_io[n]->name), &timer_io[n]->trace);  // sets its events up again
}

static void park(int n) {
  avr_timer_t *t = timer_io[n];
  static const uint8_t tccra[] = {TCCR0A, 0, TCCR2A};
  if (n == 1 || parking[n].parked || t->tov_cycles < 2 || reg(TIMSK0 + n) || (vcd && reg(tccra[n]) & 0xF0)) return;
  for (avr_cycle_timer_slot_p slot = avr->cycle_timers.timer, next; slot; slot = next) {
    next = slot->next;
    if (slot->param == t) avr_cycle_timer_cancel(avr, slot->timer, t);
  }
  parking[n].parked = 1;
  parking[n].known = avr->cycle;
}

static uint8_t read_tcnt(avr_t *avr_, avr_io_addr_t address, void *param) {
  (void)avr_, (void)param;
  catch_up(address == TCNT0 ? 0 : 2);
  return read_passed(address);
}

static uint8_t read_tifr(avr_t *avr_, avr_io_addr_t address, void *param) {
  (void)avr_, (void)param;
  catch_up(address - TIFR0);
  return reg(address);
}

// A pin that PWM drives reads as its PORT bit in simavr; on silicon PIN is the pin.
static uint8_t read_pin_register(avr_t *avr_, avr_io_addr_t address, void *param) {
  (void)avr_, (void)param;
  uint8_t v = read_passed(address);
  for (size_t k = 0; k < COUNT(OCS); k++) {
    const struct pin *pin = &PINS[OCS[k].pin];
    const avr_timer_t *t = timer_io[OCS[k].timer];
    if (!pwm_on[OCS[k].pin] || port_of[OCS[k].pin]->r_pin != address || !t->tov_cycles) continue;
    catch_up(OCS[k].timer);
    const int before_match = (avr->cycle - t->tov_base) % t->tov_cycles < t->comp[OCS[k].comp].comp_cycles;
    const int inverted = reg(OCS[k].tccra) >> OCS[k].com_shift & 1;
    v = (v & ~BIT(pin->bit)) | (before_match != inverted) << pin->bit;
  }
  return v;
}

HANDLER(write_pin_register) { UNUSED; pass(address, written_bits(address, v)); refresh_outputs(); }
HANDLER(write_output_register) { UNUSED; pass(address, v); refresh_outputs(); }

static void raise_newly_enabled(avr_io_addr_t address) {
  for (int i = 0; i < avr->interrupts.vector_count; i++) {
    avr_int_vector_t *vector = avr->interrupts.vector[i];
    if (vector->enable.reg == address && avr_regbit_get(avr, vector->enable) && avr_regbit_get(avr, vector->raised))
      avr_raise_interrupt(avr, vector);
  }
}

static void check_timers(void) {
  for (int n = 0; n < 3; n++) park(n);
  static const uint8_t tccra[] = {TCCR0A, TCCR1A, TCCR2A}, tccrb[] = {TCCR0B, TCCR1B, TCCR2B};
  for (int t = 0; t < 3; t++) {
    const int enabled = reg(TIMSK0 + t), a = reg(tccra[t]), b = reg(tccrb[t]);
    if (!enabled || !(b & 7)) continue;
    const int wgm = (a & 3) | (t == 1 ? b >> 1 & 12 : b >> 1 & 4);
    const int modelled = t == 1 ? wgm == 0 || (wgm >= 4 && wgm <= 7) : wgm == 0 || wgm == 2 || wgm == 3;
    if (!modelled) unmodelled("interrupts of a timer in a mode that the simulator does not run");
    if ((t == 1 ? wgm == 4 : wgm == 2) && enabled & 1) unmodelled("the overflow interrupt of a timer in CTC mode");
  }
}

// A flag that is already up interrupts as soon as its mask is opened; simavr waits for the next event.
HANDLER(write_mask) {
  UNUSED;
  if (address >= TIMSK0) unpark(address - TIMSK0);
  pass(address, v);
  if (address == EIMSK)
    for (int n = 0; n < 2; n++)
      if (v >> n & 1 && !(reg(0x69) >> (2 * n) & 3)) unmodelled("a low-level external interrupt");
  raise_newly_enabled(address);
  check_timers();
}

// Row 1: only written bits are cleared, pending interrupts with them.
HANDLER(write_flags) {
  UNUSED;
  v = written_bits(address, v);
  if (address <= TIFR2) catch_up(address - TIFR0);
  for (int i = 0; i < avr->interrupts.vector_count; i++) {
    avr_int_vector_t *vector = avr->interrupts.vector[i];
    if (vector->raised.reg == address && v >> vector->raised.bit & 1 && avr_regbit_get(avr, vector->raised))
      avr_clear_interrupt(avr, vector);
  }
}

static int timer_of(avr_io_addr_t address) { return address < ACSR ? 0 : address < TCCR2A ? 1 : 2; }

HANDLER(write_timer) {
  UNUSED;
  unpark(timer_of(address));
  if (address == TCCR1B && v & BIT(7)) unmodelled("the input noise canceler (ICNC1): captures have no delay and no filter");
  pass(address, v);
  check_timers();
  refresh_outputs();
}

HANDLER(write_ocr) {
  UNUSED;
  unpark(timer_of(address));
  in_reload = 1;
  pass(address, v);
  in_reload = 0;
  park(timer_of(address));
  refresh_outputs();
}

HANDLER(write_tcnt) {
  UNUSED;
  const int t = timer_of(address);
  static const uint8_t tccrb[] = {TCCR0B, TCCR1B, TCCR2B};
  if (!(reg(tccrb[t]) & 7) && (v || (t == 1 && reg(TCNT1L + 1)))) unmodelled("a count written to a stopped timer");
  unpark(t);
  pass(address, v);
  park(t);
}

static const struct { uint8_t address, mask; const char *what; } NOT_MODELLED[] = {
    {CLKPR, 0x0F, "a clock prescaler (CLKPR)"},
    {ASSR, 0x20, "Timer2 clocked by a crystal (ASSR)"},
    {GTCCR, 0x80, "stopped prescalers (GTCCR)"},
    {ACSR, 0x0C, "the analog comparator"},
    {SPCR, 0x40, "anything on the SPI bus"},
    {TWCR, 0x04, "anything on the two-wire bus"},
};

HANDLER(write_watched) {
  UNUSED;
  for (size_t i = 0; i < COUNT(NOT_MODELLED); i++)
    if (NOT_MODELLED[i].address == address && v & NOT_MODELLED[i].mask) unmodelled(NOT_MODELLED[i].what);
  pass(address, v);
}

// ---------------------------------------------------------------- USART, rows 2 to 5 and 20: replaced as a whole

// libsimavr's own USART, and its sleeping core, call this; being here it is linked in place of the C library's.
int usleep(useconds_t us) {
  (void)us;
  stats.naps++;
  return 0;
}

static uint64_t byte_cycles(void) {
  const int a = reg(UCSR0A), c = reg(UCSR0C);
  const int data_bits = 5 + (c >> 1 & 3), parity = (c >> 5 & 1), stops = 1 + (c >> 3 & 1);
  return (uint64_t)((reg16(UBRR0L) & 0xFFF) + 1) * (a & U2X ? 8 : 16) * (1 + data_bits + parity + stops);
}

static int received(void) { return uart.waiting < 2 ? uart.waiting : 2; }

static void set_status(void) {
  uint8_t a = reg(UCSR0A) & ~(RXC | FE | UDRE);
  if (uart.waiting) a |= RXC | (uart.broken[0] ? FE : 0);
  if (!uart.buffered) a |= UDRE;
  avr->data[UCSR0A] = a;
}

static void next_on_line(uint64_t from) {
  if (line_at == line_n) {
    line_at = line_n = 0;
    uart.rx_end = NEVER;
    return;
  }
  const uint64_t cycles = reg(UCSR0B) & RXEN ? byte_cycles() : HOST_BYTE_CYCLES;
  uart.rx_end = from + cycles;
  vcd_frame(PIN_RX, line[line_at].byte, from, cycles);
}

static void on_received(void) {
  if (reg(UCSR0B) & RXEN) {
    if (uart.waiting == 3) {  // buffer and shift register full: this byte is lost
      avr->data[UCSR0A] |= DOR;
      stats.rx_overruns++;
    } else {
      uart.fifo[uart.waiting] = line[line_at].byte;
      uart.broken[uart.waiting++] = line[line_at].broken;
    }
    set_status();
    if (received()) avr_raise_interrupt(avr, &uart_io->rxc);
  }
  line_at++;
  next_on_line(avr->cycle);
}

static uint8_t read_udr(avr_t *avr_, avr_io_addr_t address, void *param) {
  (void)avr_, (void)param;
  const uint8_t byte = uart.waiting ? uart.fifo[0] : reg(address);
  if (uart.waiting) {
    uart.waiting--;
    memmove(uart.fifo, uart.fifo + 1, 2);
    memmove(uart.broken, uart.broken + 1, 2);
  }
  avr->data[UCSR0A] &= ~DOR;
  set_status();
  if (!uart.waiting) avr_clear_interrupt(avr, &uart_io->rxc);
  return avr->data[address] = byte;
}

static void send(uint8_t byte) {
  uart.shift = byte;
  uart.tx_end = avr->cycle + byte_cycles();
  vcd_frame(PIN_TX, byte, avr->cycle, byte_cycles());
}

HANDLER(write_udr) {
  UNUSED;
  if (!(reg(UCSR0B) & TXEN) || uart.buffered) return;  // as silicon: ignored
  if (uart.tx_end == NEVER) {
    send(v);
    reschedule();
  } else {
    uart.buffer = v;
    uart.buffered = 1;
    set_status();
    avr_clear_interrupt(avr, &uart_io->udrc);
  }
}

static void on_sent(void) {
  put(&report.tx, &uart.shift, 1);
  const uint8_t last = uart.shift;
  uart.tx_end = NEVER;
  if (uart.buffered) {
    uart.buffered = 0;
    send(uart.buffer);
    set_status();
    avr_raise_interrupt(avr, &uart_io->udrc);
  } else {
    avr_raise_interrupt(avr, &uart_io->txc);
    if (last == 0) stop = 1;
  }
  if (report.tx.n >= TX_PENDING_MAX) stop = 1;
}

HANDLER(write_ucsra) {
  UNUSED;
  if (v & TXC) avr_clear_interrupt(avr, &uart_io->txc);
  avr->data[UCSR0A] = (reg(UCSR0A) & ~(U2X | MPCM)) | (v & (U2X | MPCM));
}

HANDLER(write_ucsrb) {
  UNUSED;
  const int changed = reg(UCSR0B) ^ v;
  if (v & UCSZ2) unmodelled("9-bit characters");
  avr->data[UCSR0B] = v;
  if (!(v & RXEN)) {
    uart.waiting = 0;
    avr->data[UCSR0A] &= ~DOR;
    avr_clear_interrupt(avr, &uart_io->rxc);
    set_status();
  }
  if (changed & v & (RXCIE | TXCIE | UDRIE)) raise_newly_enabled(UCSR0B);
  if (changed & TXEN) refresh_outputs();
}

// ---------------------------------------------------------------- ADC, row 14: replaced as a whole

struct point { uint64_t cycle; double volts; };
static struct { struct point *at; size_t n, room; } analog[ADC_CHANNELS];

// Volts at a channel: straight between points, level before the first and after the last.
static double analog_at(int channel, uint64_t cycle) {
  const struct point *p = analog[channel].at;
  const size_t n = analog[channel].n;
  if (!n || cycle < p[0].cycle) return n ? p[0].volts : 0;
  size_t i = 0;
  while (i + 1 < n && p[i + 1].cycle <= cycle) i++;
  if (i > 8) {  // what has passed is not asked for again
    memmove(analog[channel].at, p + i, (n - i) * sizeof *p);
    analog[channel].n = n - i;
    return analog_at(channel, cycle);
  }
  if (i + 1 == n) return p[i].volts;
  const double part = (double)(cycle - p[i].cycle) / (double)(p[i + 1].cycle - p[i].cycle);
  return p[i].volts + part * (p[i + 1].volts - p[i].volts);
}

static void analog_add(int channel, uint64_t cycle, double volts) {
  analog[channel].at = grow(analog[channel].at, &analog[channel].room, analog[channel].n + 1, sizeof(struct point));
  analog[channel].at[analog[channel].n++] = (struct point){cycle, volts};
}

// Cuts the future of a channel at `cycle`, where it keeps the value that it then has.
static void analog_cut(int channel, uint64_t cycle) {
  if (!analog[channel].n || analog[channel].at[analog[channel].n - 1].cycle <= cycle) return;
  const double volts = analog_at(channel, cycle);
  while (analog[channel].n && analog[channel].at[analog[channel].n - 1].cycle > cycle) analog[channel].n--;
  analog_add(channel, cycle, volts);
}

static uint64_t adc_clock(void) {
  const int adps = reg(ADCSRA) & 7;
  return adps ? BIT(adps) : 2;
}

static void adc_start(uint64_t at) {  // 13 ADC clocks, sampled after 1.5; the first 25, after 13.5
  adc.sample_at = at + adc_clock() * (adc.first ? 27 : 3) / 2;
  adc.end = at + adc_clock() * (adc.first ? 25 : 13);
  adc.first = 0;
  reschedule();
}

static void on_adc_sample(void) {
  static const char *no_aref = "an ADC reference at the AREF pin", *no_temp = "the ADC's temperature sensor";
  const int ref = reg(ADMUX) >> 6, mux = reg(ADMUX) & 15;
  if (!(ref & 1)) unmodelled(no_aref);
  if (mux == 8) unmodelled(no_temp);
  const double full = ref == 3 ? 1.1 : SUPPLY_MV / 1000.0;
  const double volts = mux < ADC_CHANNELS ? analog_at(mux, adc.sample_at) : mux == 14 ? 1.1 : 0;
  const double counts = volts * 1024 / full;  // datasheet 23.7
  adc.sample = counts <= 0 ? 0 : counts >= 1023 ? 1023 : (uint16_t)counts;
  adc.sample_at = NEVER;
}

static void on_adc_end(void) {
  const uint64_t end = adc.end;
  adc.end = NEVER;
  if (!adc.locked) {
    const uint16_t value = adc.sample << (reg(ADMUX) & BIT(5) ? 6 : 0);
    avr->data[ADCL] = value;
    avr->data[ADCH] = value >> 8;
  }
  avr->data[ADCSRA] &= ~ADSC;
  avr_raise_interrupt(avr, &adc_io->adc);
  if (reg(ADCSRA) & ADATE) {
    avr->data[ADCSRA] |= ADSC;
    adc_start(end);
  }
}

static uint8_t read_adcl(avr_t *avr_, avr_io_addr_t address, void *param) {
  (void)avr_, (void)param;
  adc.locked = 1;  // until ADCH is read
  return reg(address);
}

static uint8_t read_adch(avr_t *avr_, avr_io_addr_t address, void *param) {
  (void)avr_, (void)param;
  adc.locked = 0;
  return reg(address);
}

HANDLER(write_adcsra) {
  UNUSED;
  const int old = reg(ADCSRA);
  if (v & ADIF) avr_clear_interrupt(avr, &adc_io->adc);
  if (v & ADATE && reg(ADCSRB) & 7) unmodelled("an ADC trigger other than free running");
  avr->data[ADCSRA] = (v & ~(ADIF | ADSC)) | (reg(ADCSRA) & ADIF) | (old & ADSC);
  if (!(v & ADEN)) {
    avr->data[ADCSRA] &= ~ADSC;
    adc.sample_at = adc.end = NEVER;
    reschedule();
  } else {
    if (!(old & ADEN)) adc.first = 1;
    if (v & ADSC && !(old & ADSC)) {
      avr->data[ADCSRA] |= ADSC;
      adc_start(avr->cycle);
    }
  }
  raise_newly_enabled(ADCSRA);
}

// ---------------------------------------------------------------- EEPROM, row 13: replaced as a whole

HANDLER(write_eecr) {
  UNUSED;
  const int busy = ee.end != NEVER, was_open = avr->cycle <= ee.open_until;
  const int at = reg16(EEARL) & (EEPROM_BYTES - 1);
  uint8_t kept = (v & ~(EERE | EEPE)) | (busy ? EEPE : 0);
  if (v & EEMPE && !was_open) ee.open_until = avr->cycle + TIMED_WINDOW_CYCLES;
  if (v & EEPE && was_open && !busy) {
    const int mode = reg(EECR) >> 4 & 3;  // 0 erase and write, 1 erase, 2 write
    eeprom[at] = mode == 1 ? 0xFF : mode == 2 ? eeprom[at] & reg(EEDR) : reg(EEDR);
    stats.eeprom_writes++;
    ee.end = avr->cycle + (mode ? EEPROM_HALF_CYCLES : EEPROM_WRITE_CYCLES);
    ee.open_until = 0;
    kept = (kept & ~EEMPE) | EEPE;
    avr->cycle += 2;  // the CPU is halted
    reschedule();
  } else if (v & EERE && !busy) {
    avr->data[EEDR] = eeprom[at];
    avr->cycle += 4;
  }
  avr->data[EECR] = kept;
  if (v & EERIE && !(kept & EEPE)) avr_raise_interrupt(avr, &eeprom_io->ready);
}

static uint8_t read_eecr(avr_t *avr_, avr_io_addr_t address, void *param) {
  (void)avr_, (void)param;
  if (avr->cycle > ee.open_until) avr->data[address] &= ~EEMPE;
  return reg(address);
}

static void on_eeprom_written(void) {
  ee.end = NEVER;
  avr->data[EECR] &= ~EEPE;
  if (reg(EECR) & EERIE) avr_raise_interrupt(avr, &eeprom_io->ready);
}

// ---------------------------------------------------------------- flash written by itself, row 24: replaced as a whole

enum { SPMIE = BIT(7), RWWSB = BIT(6), SIGRD = BIT(5), RWWSRE = BIT(4), BLBSET = BIT(3), PGWRT = BIT(2), PGERS = BIT(1), SPMEN = BIT(0) };
static struct { uint64_t busy_until, open_until, filled; uint16_t word[PAGE_BYTES / 2]; } spm;

HANDLER(write_spmcsr) {
  UNUSED;
  if (avr->cycle < spm.busy_until) return;
  if (v & SPMIE) unmodelled("the interrupt of a finished flash write");
  if (v & SPMEN && v & (BLBSET | SIGRD)) unmodelled("lock bits and signature, as a program reads and writes them");
  avr->data[address] = (v & 0x3F) | (reg(address) & RWWSB);
  spm.open_until = v & SPMEN ? avr->cycle + TIMED_WINDOW_CYCLES : 0;
}

static uint8_t read_spmcsr(avr_t *avr_, avr_io_addr_t address, void *param) {
  (void)avr_, (void)param;
  if (avr->cycle >= spm.busy_until && avr->cycle > spm.open_until) avr->data[address] &= RWWSB;
  return reg(address);
}

// Only code in the boot section may do this, and the lock bits of an Uno keep that section from being written.
static void store_program_memory(void) {
  const uint32_t boot = avr->reset_pc ? avr->reset_pc : NRWW_START;
  const uint32_t z = avr->data[R_ZL] | avr->data[R_ZH] << 8, page = z & avr->flashend & ~(uint32_t)(PAGE_BYTES - 1);
  const int what = reg(SPMCSR) & 0x3F, word = z / 2 % (PAGE_BYTES / 2);
  if (avr->cycle < spm.busy_until || avr->cycle > spm.open_until || avr->pc < boot) return;
  spm.open_until = 0;
  if (what == SPMEN) {
    if (!(spm.filled >> word & 1)) spm.word[word] = avr->data[0] | avr->data[1] << 8;  // a second value is not taken
    spm.filled |= UINT64_C(1) << word;
  } else if (what == (SPMEN | RWWSRE)) {
    avr->data[SPMCSR] &= ~RWWSB;
    spm.filled = 0;
  } else if (what == (SPMEN | PGERS) || what == (SPMEN | PGWRT)) {
    for (int i = 0; page < boot && i < PAGE_BYTES; i++) {
      uint8_t *at = &avr->flash[page + i];
      if (what & PGERS) *at = 0xFF;
      else if (spm.filled >> (i / 2) & 1) *at &= spm.word[i / 2] >> (i & 1) * 8;  // writing only clears bits
    }
    if (what & PGWRT) spm.filled = 0;
    if (page < NRWW_START) {
      avr->data[SPMCSR] |= RWWSB;
      spm.busy_until = avr->cycle + PAGE_CYCLES;
    } else avr->cycle += PAGE_CYCLES;
  }
}

// ---------------------------------------------------------------- watchdog, rows 17, 18, 23: replaced as a whole

static void reset_mcu(uint8_t cause);

static uint64_t wdt_cycles(void) {
  const int wdp = (reg(WDTCSR) & WDP210) | (reg(WDTCSR) & WDP3 ? 8 : 0);
  return ((uint64_t)WDT_FIRST_TICKS << (wdp > 9 ? 9 : wdp)) * WDT_CYCLES_PER_TICK;
}

static void wdt_rearm(void) {
  wdt.due = reg(WDTCSR) & (WDE | WDIE) ? wdt.restart + wdt_cycles() : NEVER;
  if (wdt.due < avr->cycle) wdt.due = avr->cycle + 1;
  reschedule();
}

HANDLER(write_wdtcsr) {
  UNUSED;
  const int old = reg(WDTCSR), open = avr->cycle <= wdt.open_until;
  const int forced = reg(MCUSR) & WDRF ? WDE : 0;  // WDE cannot be cleared while WDRF is set
  const int locked = WDE | WDP3 | WDP210;
  int kept = open ? (v & locked) | forced : (old & locked) | (v & WDE);
  kept |= (v & WDIE) | (v & WDIF ? 0 : old & WDIF);
  if (v & WDIF) avr_clear_interrupt(avr, &watchdog_io->watchdog);
  wdt.open_until = v & WDCE && v & WDE ? avr->cycle + TIMED_WINDOW_CYCLES : open && v & WDCE ? wdt.open_until : 0;
  if (!(old & (WDE | WDIE))) wdt.restart = avr->cycle;
  avr->data[WDTCSR] = kept;
  wdt_rearm();
  raise_newly_enabled(WDTCSR);
}

static void on_watchdog(void) {
  const int status = reg(WDTCSR);
  if (status & WDE && (!(status & WDIE) || status & WDIF)) {
    reset_mcu(WDRF);
    PUT(&report.resets, uint64_t, avr->cycle);
    PUT(&report.resets, uint8_t, reg(MCUSR));
    report.reset_n++;
    stop = 1;
    return;
  }
  wdt.restart = avr->cycle;
  wdt_rearm();
  avr_raise_interrupt(avr, &watchdog_io->watchdog);
}

static int on_ioctl(avr_io_t *io, uint32_t ctl, void *param) {
  (void)io, (void)param;
  if (ctl == AVR_IOCTL_FLASH_SPM) return store_program_memory(), 0;
  if (ctl != AVR_IOCTL_WATCHDOG_RESET) return -1;
  wdt.restart = avr->cycle;
  wdt_rearm();
  return 0;
}

// ---------------------------------------------------------------- reset, rows 9 to 12

static uint64_t off_since = NEVER;  // interrupts are off since, as far as known
static uint8_t off_by;  // the vector that switched them off, 0 = the program itself
static uint8_t was_on;
static uint64_t entered[64];
static int slept;

static void reset_mcu(uint8_t cause) {
  const uint8_t old = cause & PORF ? 0 : reg(MCUSR);
  avr_reset(avr);
  if (cause & PORF) memset(avr->data + RAM_START, 0, avr->ramend + 1 - RAM_START);
  avr->data[MCUSR] = old | cause;
  avr->data[UCSR0A] = UDRE;
  avr->data[UCSR0B] = 0;
  avr->data[UCSR0C] = 0x06;
  uart.waiting = uart.buffered = 0;
  uart.tx_end = NEVER;
  adc.sample_at = adc.end = NEVER;
  adc.locked = 0;
  if (ee.end != NEVER) avr->data[EECR] = EEPE;
  spm.busy_until = spm.open_until = spm.filled = 0;
  wdt.restart = avr->cycle;
  wdt.open_until = 0;
  if (reg(MCUSR) & WDRF) avr->data[WDTCSR] = WDE;
  for (int t = 0; t < 3; t++) {
    timer_io[t]->tov_cycles = timer_io[t]->tov_base = parking[t].parked = 0;
    for (int c = 0; c < AVR_TIMER_COMP_COUNT; c++) timer_io[t]->comp[c].comp_cycles = 0;
  }
  for (int n = 0; n < 2; n++) avr_extint_set_strict_lvl_trig(avr, n, 0);  // row 21
  for (int i = 0; i < PIN_COUNT; i++)
    if (outside(i) >= 0) {
      avr->data[port_of[i]->r_pin] |= outside(i) << PINS[i].bit;
      avr_raise_irq(port_of[i]->io.irq + PINS[i].bit, outside(i));
    }
  for (int address = TIFR0; address <= EIFR; address++) avr->data[address] = 0;
  off_since = NEVER;
  was_on = 0;
  slept = 0;
  wdt_rearm();
  refresh_outputs();
}

// ---------------------------------------------------------------- events and interrupts

static void fire(void) {
  const uint64_t now = avr->cycle;
  if (edge_at < edge_n && edges[edge_at].cycle == now) {
    const struct edge e = edges[edge_at++];
    if (edge_at == edge_n) edge_at = edge_n = 0;
    set_input(e.pin, e.level);
  } else if (uart.rx_end == now) on_received();
  else if (uart.tx_end == now) on_sent();
  else if (adc.sample_at == now) on_adc_sample();
  else if (adc.end == now) on_adc_end();
  else if (ee.end == now) on_eeprom_written();
  else if (wdt.due == now) on_watchdog();
  reschedule();
}

static inline uint64_t timer_due(void) {
  return avr->cycle_timers.timer ? avr->cycle_timers.timer->when : NEVER;
}

// Row 16: everything that is due happens at its own cycle and in order, whatever instruction the AVR is in. At the same
// cycle simavr's timers come first, as an overflow does before a capture of 0.
static void happen(void) {
  const uint64_t now = avr->cycle;
  for (;;) {
    const uint64_t timer = timer_due(), next = timer < due ? timer : due;
    if (next > now) break;
    avr->cycle = next;
    if (timer <= due) avr_cycle_timer_process(avr);
    else fire();
  }
  avr->cycle = now;
}

// Flags that interrupt for as long as they are up; simavr queues them once.
static void raise_levels(void) {
  const int b = reg(UCSR0B);
  if (b & RXCIE && uart.waiting) avr_raise_interrupt(avr, &uart_io->rxc);
  if (b & UDRIE && !uart.buffered) avr_raise_interrupt(avr, &uart_io->udrc);
  if (reg(EECR) & EERIE && ee.end == NEVER) avr_raise_interrupt(avr, &eeprom_io->ready);
}

// Rows 19 and 22: the lowest vector that is pending and enabled, one instruction after interrupts were switched on.
static void interrupt(void) {
  if (avr->interrupt_state < 0) {
    if (avr->interrupt_state == -2) {
      avr->interrupt_state = -1;
      if (off_since != NEVER && off_by != CAPTURE_VECTOR && avr->cycle - off_since > stats.longest_off)
        stats.longest_off = avr->cycle - off_since;
      off_since = NEVER;
      raise_levels();
      return;
    }
    avr->interrupt_state = avr_has_pending_interrupts(avr);
  }
  if (!avr->sreg[S_I] || !avr->interrupt_state) return;
  avr_int_table_p table = &avr->interrupts;
  avr_int_vector_t *best = NULL, *rest[avr_int_pending_fifo_size];
  int n = 0;
  while (!avr_int_pending_isempty(&table->pending)) {
    avr_int_vector_t *vector = avr_int_pending_read(&table->pending);
    if (!vector->pending) continue;
    if (!avr_regbit_get(avr, vector->enable)) {
      vector->pending = 0;
      continue;
    }
    if (vector == best) continue;
    if (!best || vector->vector < best->vector) {
      if (best) rest[n++] = best;
      best = vector;
    } else rest[n++] = vector;
  }
  for (int i = 0; i < n; i++) avr_int_pending_write(&table->pending, rest[i]);
  if (!best) {
    avr->interrupt_state = 0;
    return;
  }
  const int keeps_wdie = best == &watchdog_io->watchdog && !(reg(WDTCSR) & WDE);
  _avr_push_addr(avr, avr->pc);
  avr_sreg_set(avr, S_I, 0);
  avr->pc = best->vector * avr->vector_size;
  if (table->running_ptr < COUNT(table->running)) {
    entered[table->running_ptr] = avr->cycle;
    table->running[table->running_ptr++] = best;
  }
  avr_clear_interrupt(avr, best);
  if (keeps_wdie) avr->data[WDTCSR] |= WDIE;  // row 17
  stats.vector_runs[best->vector]++;
  off_since = avr->cycle;
  off_by = best->vector;
  was_on = 0;
  avr->cycle += INTERRUPT_CYCLES + (slept ? WAKE_CYCLES : 0);
  slept = 0;
  avr->state = cpu_Running;
}

static void on_reti(avr_irq_t *irq, uint32_t value, void *param) {
  (void)irq;
  const avr_int_vector_t *vector = param;
  if (value) return;
  const uint64_t cycles = avr->cycle + 4 - entered[avr->interrupts.running_ptr];
  if (cycles > stats.vector_longest[vector->vector]) stats.vector_longest[vector->vector] = cycles;
}

// Audit: sees CLI, which the core runs without telling anybody.
static void watch(void) {
  if (was_on && !avr->sreg[S_I]) {
    off_since = avr->cycle;
    off_by = 0;
  }
  was_on = avr->sreg[S_I];
}

// A push or call writes the low byte first and this one last. OUT writes this one first: half a pointer is no depth.
HANDLER(write_sph) {
  UNUSED;
  avr->data[R_SPH] = v;
  const uint16_t sp = avr->data[R_SPL] | v << 8;
  if (sp < stats.min_sp && (avr->flash[avr->pc + 1] & 0xF8) != 0xB8) stats.min_sp = sp;
}

static void leave_if_orphaned(void) {
  struct pollfd far_side = {.fd = STDIN_FILENO};
  if (poll(&far_side, 1, 0) == 1 && far_side.revents & (POLLHUP | POLLERR)) {
    vcd_close();
    _exit(0);
  }
}

static uint64_t next_event(uint64_t limit) {
  const uint64_t timer = timer_due(), next = timer < due ? timer : due;
  return next < limit ? next : limit;
}

static void run(uint64_t until) {
  uint64_t look_at = avr->cycle + 5 * CYCLE_HZ;
  while (!stop && avr->cycle < until) {
    stats.turns++;
    const uint64_t next = next_event(until);
    if (avr->state == cpu_Running) {
      const uint64_t ahead = next > avr->cycle ? next - avr->cycle : 1;
      avr->run_cycle_count = avr->run_cycle_limit = audit ? 1 : ahead < LONGEST_BATCH ? ahead : LONGEST_BATCH;
      avr->pc = avr_run_one(avr);
      if (audit) watch();
      if (avr->state == cpu_Sleeping && !(reg(SMCR) & 1)) avr->state = cpu_Running;  // SLEEP without SE does nothing
    } else if (avr->state == cpu_Sleeping) {
      if (reg(SMCR) & 0x0E) unmodelled("a sleep mode other than idle: the clocks go on");
      if (!avr->sreg[S_I] && !(reg(WDTCSR) & WDE)) {  // nothing can end this sleep
        avr->state = cpu_Done;
        break;
      }
      if (next > avr->cycle) {
        stats.asleep += next - avr->cycle;
        avr->cycle = next;
      }
      slept = 1;
    } else break;
    if (timer_due() <= avr->cycle || due <= avr->cycle) happen();
    if (avr->interrupt_state) interrupt();
    if (avr->cycle >= look_at) {
      look_at = avr->cycle + 5 * CYCLE_HZ;
      leave_if_orphaned();
    }
  }
}

// ---------------------------------------------------------------- raw, for the conformance suite: libsimavr's faults as they come

// An edge comes from a cycle timer, as a host of libsimavr would raise it.
static avr_cycle_count_t raw_edge(avr_t *avr_, avr_cycle_count_t when, void *param) {
  (void)avr_, (void)param;
  for (; edge_at < edge_n && edges[edge_at].cycle <= when; edge_at++)
    avr_raise_irq(port_of[edges[edge_at].pin]->io.irq + PINS[edges[edge_at].pin].bit, edges[edge_at].level);
  return edge_at < edge_n ? edges[edge_at].cycle : 0;
}

// So does a byte, back to back with the one before it.
static avr_cycle_count_t raw_byte(avr_t *avr_, avr_cycle_count_t when, void *param) {
  (void)avr_, (void)param;
  avr_raise_irq(uart_io->io.irq + UART_IRQ_INPUT, line[line_at++].byte);
  if (line_at < line_n) return when + HOST_BYTE_CYCLES;
  line_at = line_n = 0;
  return 0;
}

static void raw_schedule(void) {
  avr_cycle_timer_cancel(avr, raw_edge, NULL);
  if (edge_at < edge_n) avr_cycle_timer_register(avr, edges[edge_at].cycle - avr->cycle, raw_edge, NULL);
  if (line_at < line_n && !avr_cycle_timer_status(avr, raw_byte, NULL))
    avr_cycle_timer_register(avr, HOST_BYTE_CYCLES, raw_byte, NULL);
}

// An output is what a pin's IRQ is raised with, each time that it is: inputs, doubled edges and flags in the value included.
static void raw_pin(avr_irq_t *irq, uint32_t value, void *param) {
  (void)irq;
  report_output((int)(intptr_t)param, value);
}

static void raw_sent(avr_irq_t *irq, uint32_t value, void *param) {
  (void)irq, (void)param;
  const uint8_t byte = value;
  put(&report.tx, &byte, 1);
  stop = stop || byte == 0 || report.tx.n >= TX_PENDING_MAX;
  come_back();
}

static void install_raw(void) {
  for (int i = 0; i < PIN_COUNT; i++)
    avr_irq_register_notify(port_of[i]->io.irq + PINS[i].bit, raw_pin, (void *)(intptr_t)i);
  avr_irq_register_notify(uart_io->io.irq + UART_IRQ_OUTPUT, raw_sent, NULL);
}

static void run_raw(uint64_t until) {
  while (!stop && avr->cycle < until && avr->state != cpu_Done && avr->state != cpu_Crashed) {
    stats.turns++;
    avr_run(avr);
  }
}

// ---------------------------------------------------------------- the far side

enum op {
  OP_EDGES = 1,    // u32 n, n * (u64 cycle, u8 pin, u8 level): input edges
  OP_ANALOG,       // u8 channel, u32 n, n * (u64 cycle, f64 volts): from the first point on
  OP_CANCEL,       // u64 cycle: forget edges and analog points later than this
  OP_RX,           // u8 broken, u32 n, bytes: onto the receive line
  OP_RESET,        // u8 power_on
  OP_POKE,         // u16 address, u32 n, bytes: data space
  OP_FLASH,        // u32 address, u32 n, bytes
  OP_EEPROM_SET,   // u32 n, bytes
  OP_RESET_PC,     // u32 address: where resets lead, for a bootloader
  OP_RUN = 0x80,   // u64 until; answered by what happened
  OP_PEEK,         // u16 address, u16 n; answered by the bytes
  OP_EEPROM_GET,   // answered by 1024 bytes
  OP_STATS,        // answered by the statistics
  OP_LINE,         // answered by u32 bytes still on the receive line, u32 cycles a byte takes, 0 with the USART off
};

static int reply_fd;

static void write_all(const void *data, size_t n) {
  const uint8_t *at = data;
  while (n) {
    const ssize_t done = write(reply_fd, at, n);
    if (done <= 0) exit(1);
    at += done;
    n -= done;
  }
}

static void answer(const struct bytes *body) {  // body starts with room for its length
  const uint32_t length = body->n - 4;
  memcpy(body->at, &length, 4);
  write_all(body->at, body->n);
}

static const uint8_t *request, *request_end;

static void need(size_t n) {
  if ((size_t)(request_end - request) >= n) return;
  fprintf(stderr, "avrtwin: a request ends in the middle of an operation\n");
  exit(1);
}

#define TAKE(type) ({ type take_; need(sizeof take_); memcpy(&take_, request, sizeof take_); request += sizeof take_; take_; })

static const uint8_t *take_bytes(size_t n) {
  need(n);
  request += n;
  return request - n;
}

static void add_edge(uint64_t cycle, uint8_t pin, uint8_t level) {
  if (pin >= PIN_COUNT) return;
  if (cycle < avr->cycle) cycle = avr->cycle;
  if (edge_at > 4096) {
    memmove(edges, edges + edge_at, (edge_n -= edge_at) * sizeof *edges);
    edge_at = 0;
  }
  edges = grow(edges, &edge_room, edge_n + 1, sizeof *edges);
  size_t i = edge_n++;
  for (; i > edge_at && edges[i - 1].cycle > cycle; i--) edges[i] = edges[i - 1];
  edges[i] = (struct edge){cycle, pin, level != 0};
}

static void cancel_after(uint64_t cycle) {
  while (edge_n > edge_at && edges[edge_n - 1].cycle > cycle) edge_n--;
  for (int channel = 0; channel < ADC_CHANNELS; channel++) analog_cut(channel, cycle);
}

static void put_line(uint8_t byte, uint8_t broken) {
  line = grow(line, &line_room, line_n + 1, sizeof *line);
  line[line_n].byte = byte;
  line[line_n++].broken = broken;
}

static void answer_run(struct bytes *out) {
  PUT(out, uint64_t, avr->cycle);
  PUT(out, uint8_t, avr->state == cpu_Crashed || avr->state == cpu_Done || avr->state == cpu_Stopped);
  PUT(out, uint16_t, report.output_n);
  PUT(out, uint16_t, report.reset_n);
  PUT(out, uint16_t, report.unmodelled_n);
  PUT(out, uint32_t, report.tx.n);
  struct bytes *parts[] = {&report.outputs, &report.resets, &report.tx, &report.unmodelled};
  for (size_t i = 0; i < COUNT(parts); i++) {
    put(out, parts[i]->at, parts[i]->n);
    parts[i]->n = 0;
  }
  report.output_n = report.reset_n = report.unmodelled_n = 0;
}

static void answer_stats(struct bytes *out) {
  PUT(out, uint64_t, avr->cycle);
  PUT(out, uint64_t, avr->cycle - stats.asleep);
  PUT(out, uint64_t, stats.exchanges);
  PUT(out, uint64_t, stats.turns);
  PUT(out, uint64_t, stats.naps);
  PUT(out, uint64_t, stats.echoes);
  PUT(out, uint32_t, stats.longest_off);
  PUT(out, uint32_t, stats.rx_overruns);
  PUT(out, uint32_t, stats.eeprom_writes);
  PUT(out, uint16_t, stats.min_sp);
  put(out, stats.vector_longest, sizeof stats.vector_longest);
  put(out, stats.vector_runs, sizeof stats.vector_runs);
}

static void answer_line(struct bytes *out) {
  PUT(out, uint32_t, line_n - line_at);
  PUT(out, uint32_t, reg(UCSR0B) & (RXEN | TXEN) ? byte_cycles() : 0);
}

static void serve(void) {
  static struct bytes out;
  out.n = 0;
  PUT(&out, uint32_t, 0);
  stats.exchanges++;
  while (request < request_end) {
    const uint8_t op = TAKE(uint8_t);
    uint32_t n;
    switch (op) {
      case OP_EDGES:
        for (n = TAKE(uint32_t); n; n--) {
          const uint64_t cycle = TAKE(uint64_t);
          const uint8_t pin = TAKE(uint8_t);
          add_edge(cycle, pin, TAKE(uint8_t));
        }
        if (raw) raw_schedule();
        break;
      case OP_ANALOG: {
        const int channel = TAKE(uint8_t) & (ADC_CHANNELS - 1);
        n = TAKE(uint32_t);
        for (uint32_t i = 0; i < n; i++) {
          const uint64_t cycle = TAKE(uint64_t);
          if (!i) {
            const double held = analog_at(channel, cycle);
            analog_cut(channel, cycle);
            if (analog[channel].n) analog_add(channel, cycle, held);
          }
          analog_add(channel, cycle, TAKE(double));
        }
        break;
      }
      case OP_CANCEL: cancel_after(TAKE(uint64_t)); break;
      case OP_RX: {
        const uint8_t broken = TAKE(uint8_t);
        n = TAKE(uint32_t);
        const uint8_t *bytes = take_bytes(n);
        for (uint32_t i = 0; i < n; i++) put_line(bytes[i], broken);
        if (raw) raw_schedule();
        else if (uart.rx_end == NEVER) next_on_line(avr->cycle);
        break;
      }
      case OP_RESET: {
        const uint8_t cause = TAKE(uint8_t) ? PORF : EXTRF;
        if (raw) avr_reset(avr);
        else reset_mcu(cause);
        break;
      }
      case OP_POKE: {
        const uint16_t address = TAKE(uint16_t);
        n = TAKE(uint32_t);
        const uint8_t *bytes = take_bytes(n);
        for (uint32_t i = 0; i < n && address + i <= avr->ramend; i++) avr->data[address + i] = bytes[i];
        break;
      }
      case OP_FLASH: {
        const uint32_t address = TAKE(uint32_t);
        n = TAKE(uint32_t);
        const uint8_t *bytes = take_bytes(n);
        if (address + n <= avr->flashend + 1) memcpy(avr->flash + address, bytes, n);
        break;
      }
      case OP_EEPROM_SET:
        n = TAKE(uint32_t);
        memcpy(eeprom, take_bytes(n), n < EEPROM_BYTES ? n : EEPROM_BYTES);
        break;
      case OP_RESET_PC: avr->reset_pc = TAKE(uint32_t); break;
      case OP_RUN:
        reschedule();
        stop = report.output_n || report.reset_n;
        (raw ? run_raw : run)(TAKE(uint64_t));
        answer_run(&out);
        answer(&out);
        return;
      case OP_PEEK: {
        const uint16_t address = TAKE(uint16_t), size = TAKE(uint16_t);
        for (uint32_t i = 0; i < size; i++) PUT(&out, uint8_t, address + i <= avr->ramend ? avr->data[address + i] : 0);
        answer(&out);
        return;
      }
      case OP_EEPROM_GET:
        put(&out, eeprom, EEPROM_BYTES);
        answer(&out);
        return;
      case OP_STATS:
        answer_stats(&out);
        answer(&out);
        return;
      case OP_LINE:
        answer_line(&out);
        answer(&out);
        return;
      default:
        fprintf(stderr, "avrtwin: unknown operation %u\n", op);
        exit(1);
    }
  }
}

static int read_all(uint8_t *at, size_t n) {
  while (n) {
    const ssize_t done = read(STDIN_FILENO, at, n);
    if (done <= 0) return 0;
    at += done;
    n -= done;
  }
  return 1;
}

// ---------------------------------------------------------------- setting up

static void on_log(avr_t *avr_, const int level, const char *format, va_list arguments) {
  static int said;  // a firmware that runs into nothing has one complaint for each instruction
  (void)avr_;
  if (level == LOG_OUTPUT) stats.echoes++;
  if (level == LOG_ERROR && said++ < 10) vfprintf(stderr, format, arguments);
}

static void shim(avr_io_addr_t address, avr_io_write_t handler) {
  const int a = AVR_DATA_TO_IO(address);
  original[a].c = avr->io[a].w.c;
  original[a].param = avr->io[a].w.param;
  avr->io[a].w.c = handler;
  avr->io[a].w.param = NULL;
}

static void shim_read(avr_io_addr_t address, avr_io_read_t handler) {
  const int a = AVR_DATA_TO_IO(address);
  original[a].r = avr->io[a].r.c;
  original[a].r_param = avr->io[a].r.param;
  avr->io[a].r.c = handler;
  avr->io[a].r.param = NULL;
}

static const struct { uint8_t address; avr_io_write_t handler; } WRITES[] = {
    {PINB, write_pin_register}, {PINC, write_pin_register}, {PIND, write_pin_register},
    {PINB + 1, write_output_register}, {PINC + 1, write_output_register}, {PIND + 1, write_output_register},
    {PINB + 2, write_output_register}, {PINC + 2, write_output_register}, {PIND + 2, write_output_register},
    {TIFR0, write_flags}, {TIFR1, write_flags}, {TIFR2, write_flags}, {PCIFR, write_flags}, {EIFR, write_flags},
    {EIMSK, write_mask}, {PCICR, write_mask}, {TIMSK0, write_mask}, {TIMSK1, write_mask}, {TIMSK2, write_mask},
    {TCCR0A, write_timer}, {TCCR0B, write_timer}, {TCCR1A, write_timer}, {TCCR1B, write_timer},
    {TCCR2A, write_timer}, {TCCR2B, write_timer},
    {OCR0A, write_ocr}, {OCR0B, write_ocr}, {OCR1AL, write_ocr}, {OCR1BL, write_ocr}, {OCR2A, write_ocr},
    {OCR2B, write_ocr}, {TCNT0, write_tcnt}, {TCNT1L, write_tcnt}, {TCNT2, write_tcnt},
    {EECR, write_eecr}, {WDTCSR, write_wdtcsr}, {ADCSRA, write_adcsra},
    {UCSR0A, write_ucsra}, {UCSR0B, write_ucsrb}, {UDR0, write_udr},
    {CLKPR, write_watched}, {ASSR, write_watched}, {GTCCR, write_watched}, {ACSR, write_watched},
    {SPCR, write_watched}, {TWCR, write_watched}, {SPMCSR, write_spmcsr}, {R_SPH, write_sph},
};
static const struct { uint8_t address; avr_io_read_t handler; } READS[] = {
    {PINB, read_pin_register}, {PINC, read_pin_register}, {PIND, read_pin_register}, {TIFR0, read_tifr},
    {TIFR2, read_tifr}, {TCNT0, read_tcnt}, {TCNT2, read_tcnt}, {EECR, read_eecr}, {ADCL, read_adcl},
    {ADCH, read_adch}, {UCSR0A, NULL}, {UDR0, read_udr}, {SPMCSR, read_spmcsr},
};
static const uint8_t PLAIN[] = {ADCL, ADCH, ADCSRB, ADMUX, UCSR0C, UBRR0L, UBRR0H};  // memory; read by our models

static void find_parts(void) {
  for (avr_io_t *io = avr->io_port; io; io = io->next) {
    if (!strcmp(io->kind, "timer")) timer_io[((avr_timer_t *)io)->name - '0'] = (avr_timer_t *)io;
    else if (!strcmp(io->kind, "uart")) uart_io = (avr_uart_t *)io;
    else if (!strcmp(io->kind, "adc")) adc_io = (avr_adc_t *)io;
    else if (!strcmp(io->kind, "eeprom")) eeprom_io = (avr_eeprom_t *)io;
    else if (!strcmp(io->kind, "watchdog")) watchdog_io = (avr_watchdog_t *)io;
    else if (!strcmp(io->kind, "port"))
      for (int i = 0; i < PIN_COUNT; i++)
        if (PINS[i].port == ((avr_ioport_t *)io)->name) port_of[i] = (avr_ioport_t *)io;
  }
  avr_eeprom_desc_t whole = {.ee = NULL, .offset = 0, .size = EEPROM_BYTES};
  avr_ioctl(avr, AVR_IOCTL_EEPROM_GET, &whole);
  eeprom = whole.ee;
}

static void install(void) {
  static avr_io_t ours = {.kind = "avrtwin", .ioctl = on_ioctl};
  avr_register_io(avr, &ours);
  for (size_t i = 0; i < COUNT(WRITES); i++) shim(WRITES[i].address, WRITES[i].handler);
  for (size_t i = 0; i < COUNT(PLAIN); i++) {
    avr->io[AVR_DATA_TO_IO(PLAIN[i])].w.c = NULL;
    avr->io[AVR_DATA_TO_IO(PLAIN[i])].r.c = NULL;
  }
  for (size_t i = 0; i < COUNT(READS); i++) shim_read(READS[i].address, READS[i].handler);
  for (int i = 0; i < avr->interrupts.vector_count; i++) {
    avr_int_vector_t *vector = avr->interrupts.vector[i];
    avr_irq_register_notify(vector->irq + AVR_INT_IRQ_RUNNING, on_reti, vector);
  }
  for (int i = 0; i < PIN_COUNT; i++) set_external(i);
  for (size_t k = 0; vcd && k < COUNT(OCS); k++) {
    const int i = OCS[k].pin;
    avr_irq_register_notify(port_of[i]->io.irq + PINS[i].bit, on_pwm_edge, (void *)(intptr_t)i);
  }
  vcd_put(0, PIN_RX, '1');
  vcd_put(0, PIN_TX, '1');
}

// Tells the far side that all is ready (empty body), or in one line why not.
static void greet(const char *trouble, const char *what) {
  struct bytes out = {0};
  PUT(&out, uint32_t, 0);
  put(&out, trouble, strlen(trouble));
  put(&out, what, strlen(what));
  answer(&out);
  if (*trouble) exit(1);
}

int main(int argc, char **argv) {
  raw = argc > 1 && !strcmp(argv[1], "--raw");
  audit = argc > 1 && !strcmp(argv[1], "--audit");
  if (raw || audit) {
    argc--;
    argv++;
  }
  const char *vcd_path = NULL;
  if (!raw && argc > 2 && !strcmp(argv[1], "--vcd")) {
    vcd_path = argv[2];
    argc -= 2;
    argv += 2;
  }
  if (argc != 2) {
    fprintf(stderr, "usage: avrtwin [--raw | [--audit] [--vcd FILE]] ELF; speaks binary on stdin and stdout\n");
    return 2;
  }
  signal(SIGINT, SIG_IGN);  // the far side decides
  reply_fd = dup(STDOUT_FILENO);
  dup2(STDERR_FILENO, STDOUT_FILENO);  // libsimavr prints to stdout
  avr_global_logger_set(on_log);
  static elf_firmware_t firmware;
  if (elf_read_firmware(argv[1], &firmware) || !firmware.flashsize) greet("cannot load ", argv[1]);
  avr = avr_make_mcu_by_name("atmega328p");
  if (!avr) greet("this libsimavr has no ", "atmega328p");
  avr_init(avr);
  if (firmware.flashbase + firmware.flashsize > avr->flashend + 1) greet("too large for the flash: ", argv[1]);
  avr->frequency = CYCLE_HZ;
  avr->vcc = avr->avcc = avr->aref = SUPPLY_MV;
  firmware.tracecount = 0;  // a firmware may ask simavr for a trace of its own
  avr_load_firmware(avr, &firmware);
  avr->frequency = CYCLE_HZ;
  find_parts();
  if (vcd_path) {
    vcd_open(vcd_path);
    if (!vcd) greet("cannot write ", vcd_path);
  }
  stats.min_sp = avr->ramend;
  if (raw) install_raw();
  else {
    install();
    reset_mcu(PORF);
  }
  greet("", "");
  static struct bytes in;
  uint32_t length;
  while (read_all((uint8_t *)&length, sizeof length)) {
    in.at = grow(in.at, &in.room, length, 1);
    if (!read_all(in.at, length)) break;
    request = in.at;
    request_end = in.at + length;
    serve();
  }
  vcd_close();
  return 0;
}
