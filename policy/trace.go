package policy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"time"
)

// Kind says what an event of a trace is.
type Kind uint8

// The kinds of events.
const (
	Hit  Kind = iota // a use of a page that was there
	Miss             // a use of a page that had to be brought
	Move             // a page went from a tier to another, without a use
	Pass             // a pass of the model began; Page is its number of tokens
)

// Tier is a place of pages.
type Tier uint8

// The tiers. Hot is the memory of the device that computes; on a CPU all
// memory is.
const (
	Nowhere Tier = iota
	Hot
	Warm
	Cold // on disk
)

// Cause says why something happened.
type Cause uint8

// The causes.
const (
	Demand    Cause = iota // it was needed now
	ReadAhead              // it will be needed
	Scan                   // it is needed once, as all others are: reading a prompt
	Evict                  // another page needed the room
	Write                  // it is new
	Resume                 // a text goes on
	Drop                   // it will not be needed again
)

var (
	kindNames  = []string{"hit", "miss", "move", "pass"}
	tierNames  = []string{"nowhere", "hot", "warm", "cold"}
	causeNames = []string{"demand", "read-ahead", "scan", "evict", "write", "resume", "drop"}
)

// String is the name of the kind.
func (k Kind) String() string { return nameOf(kindNames, int(k)) }

// String is the name of the tier.
func (t Tier) String() string { return nameOf(tierNames, int(t)) }

// String is the name of the cause.
func (c Cause) String() string { return nameOf(causeNames, int(c)) }

func nameOf(names []string, i int) string {
	if i < len(names) {
		return names[i]
	}
	return fmt.Sprint(i)
}

// Event is one decision about a page.
type Event struct {
	Time     time.Duration // since the trace began
	Kind     Kind
	Pool     uint8 // index in Header.Pools
	Page     uint64
	Bytes    int64
	From, To Tier
	Cause    Cause
}

// Header says what a trace is of.
type Header struct {
	Model string    `json:"model"`
	Began time.Time `json:"began"`
	Pools []Pool    `json:"pools"`
}

// Pool is a set of slots of one size.
type Pool struct {
	Name      string `json:"name"` // "weights", "experts", "kv"
	Policy    string `json:"policy"`
	Slots     int    `json:"slots"`
	SlotBytes int64  `json:"slot_bytes"`
	Pages     int    `json:"pages"` // that the pool serves; 0: any number
	Bytes     int64  `json:"bytes"` // of all pages
}

// A trace file is a stream of blocks after eight bytes of magic:
//
//	"gorTRC01"
//	┌──────────────┬────────────────┬─────────────┐
//	│ length u32   │ CRC-32C u32    │ length bytes│   JSON of the Header
//	├──────────────┼────────────────┼─────────────┤
//	│ length u32   │ CRC-32C u32    │ length bytes│   events
//	└──────────────┴────────────────┴─────────────┘   ...
//
// Numbers are little-endian. Each block of events can be read by itself:
//
//	kind | pool<<2   u8
//	from | to<<4     u8
//	cause            u8
//	time             uvarint  microseconds after the event before; of the first, after the begin
//	page             varint   difference to the event before
//	bytes            varint   difference to the event before
//
// A stream that was cut off loses its last block.
const (
	magic       = "gorTRC01"
	blockHeader = 8
	blockBytes  = 32 << 10 // when a writer ends a block
	mostBytes   = 1 << 20  // of a block, when read
	mostPools   = 64
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// coder holds what events of a block are differences to.
type coder struct{ last Event }

func (c *coder) append(b []byte, e Event) []byte {
	b = append(b, byte(e.Kind)|e.Pool<<2, byte(e.From)|byte(e.To)<<4, byte(e.Cause))
	b = binary.AppendUvarint(b, uint64((e.Time-c.last.Time)/time.Microsecond))
	b = binary.AppendVarint(b, int64(e.Page-c.last.Page))
	b = binary.AppendVarint(b, e.Bytes-c.last.Bytes)
	c.last = e
	return b
}

var errEvent = errors.New("trace: an event is malformed")

// take reads an event from the front of b and returns the rest.
func (c *coder) take(b []byte) (e Event, rest []byte, err error) {
	if len(b) < 3 {
		return e, nil, errEvent
	}
	e.Kind, e.Pool, e.From, e.To, e.Cause = Kind(b[0]&3), b[0]>>2, Tier(b[1]&15), Tier(b[1]>>4), Cause(b[2])
	b = b[3:]
	t, n := binary.Uvarint(b)
	if n <= 0 || t > 1<<53 {
		return e, nil, errEvent
	}
	page, m := binary.Varint(b[n:])
	if m <= 0 {
		return e, nil, errEvent
	}
	bytes, k := binary.Varint(b[n+m:])
	if k <= 0 {
		return e, nil, errEvent
	}
	e.Time = c.last.Time + time.Duration(t)*time.Microsecond
	e.Page, e.Bytes = c.last.Page+uint64(page), c.last.Bytes+bytes
	c.last = e
	return e, b[n+m+k:], nil
}
