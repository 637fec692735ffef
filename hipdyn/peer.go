package hipdyn

import (
	"errors"
	"fmt"
	"unsafe"

	"gorun/hipdyn/abi"
)

// linkPiece is what a Link through the host copies at once. There are two
// pieces, so that one is filled while the other is emptied.
const linkPiece = 1 << 20

// Link copies from one device to another. Devices of one generation may reach
// each other's memory; others never do, and then the bytes go through pinned
// host memory, piece by piece, on both devices' streams. The host never waits.
type Link struct {
	src, dst *Stream
	direct   bool
	pieces   [2]linkSlot
	next     int
	reached  [2]*Event // of the streams; for direct copies
}

// linkSlot is a piece of pinned memory and the events that guard it.
type linkSlot struct {
	memory        *Pinned
	filled, empty *Event
	used          bool
}

// NewLink makes a link between streams of two devices of one library. A device
// that cannot reach the other directly is no error.
func NewLink(src, dst *Stream) (*Link, error) {
	if src.dev.lib != dst.dev.lib || src.dev == dst.dev {
		return nil, fmt.Errorf("hipdyn: a link needs two devices of one library, not %v and %v", src.dev, dst.dev)
	}
	l := &Link{src: src, dst: dst}
	direct, err := src.dev.lib.enablePeers(src.dev, dst.dev)
	if err != nil {
		return nil, err
	}
	if err := l.prepare(direct); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// prepare makes events and, for a link through the host, its memory.
func (l *Link) prepare(direct bool) (err error) {
	l.direct = direct
	if direct {
		if l.reached[0], err = l.src.dev.NewEvent(false); err != nil {
			return err
		}
		l.reached[1], err = l.dst.dev.NewEvent(false)
		return err
	}
	for i := range l.pieces {
		p := &l.pieces[i]
		if p.memory, err = l.src.dev.AllocPinned(linkPiece); err != nil {
			return err
		}
		if p.filled, err = l.src.dev.NewEvent(false); err != nil {
			return err
		}
		if p.empty, err = l.dst.dev.NewEvent(false); err != nil {
			return err
		}
	}
	return nil
}

// Direct tells whether the devices reach each other's memory.
func (l *Link) Direct() bool { return l.direct }

// enablePeers lets two devices use each other's memory, if they can.
func (l *Library) enablePeers(a, b *Device) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := [2]int{min(a.Index, b.Index), max(a.Index, b.Index)}
	if direct, ok := l.directPeer[key]; ok {
		return direct, nil
	}
	direct := a.canReach(b) && b.canReach(a)
	if direct {
		for _, pair := range [][2]*Device{{a, b}, {b, a}} {
			d, peer := pair[0], pair[1]
			err := d.Do(func() error {
				return d.check(l.hip.hipDeviceEnablePeerAccess.call(uintptr(peer.Index), 0), "hipDeviceEnablePeerAccess")
			})
			if err != nil && !errors.Is(err, abi.PeerAccessAlreadyEnabled) {
				return false, err
			}
		}
	}
	l.directPeer[key] = direct
	return direct, nil
}

// generation is the instruction set without its last two digits: gfx11 of gfx1151.
func generation(gfx string) string { return gfx[:max(0, len(gfx)-2)] }

// canReach asks whether d can use a peer's memory. Some releases say yes for
// devices of different generations, where it does not work.
func (d *Device) canReach(peer *Device) bool {
	if generation(d.GFX) != generation(peer.GFX) {
		return false
	}
	var can int32
	err := d.Do(func() error {
		return d.check(d.lib.hip.hipDeviceCanAccessPeer.call(uintptr(unsafe.Pointer(&can)), uintptr(d.Index), uintptr(peer.Index)), "hipDeviceCanAccessPeer")
	})
	return err == nil && can == 1
}

// Copy enqueues a copy on both streams: it comes after what is in them, and
// before what follows.
func (l *Link) Copy(dst *Buffer, dstOffset int64, src *Buffer, srcOffset, n int64) error {
	to, err := dst.span(l.dst.dev, dstOffset, n)
	if err != nil {
		return err
	}
	from, err := src.span(l.src.dev, srcOffset, n)
	if err != nil || n == 0 {
		return err
	}
	if l.direct {
		return l.copyDirect(to, from, n)
	}
	for at := int64(0); at < n; at += linkPiece {
		if err := l.copyPiece(dst, dstOffset+at, src, srcOffset+at, min(linkPiece, n-at)); err != nil {
			return err
		}
	}
	return nil
}

// copyDirect runs on the destination's stream, between two events.
func (l *Link) copyDirect(to, from uintptr, n int64) error {
	d := l.dst.dev
	return inOrder(
		func() error { return l.src.Record(l.reached[0]) },
		func() error { return l.dst.Wait(l.reached[0]) },
		func() error {
			return l.dst.call("hipMemcpyPeerAsync", func() abi.Code {
				return d.lib.hip.hipMemcpyPeerAsync.call(to, uintptr(d.Index), from, uintptr(l.src.dev.Index), uintptr(n), l.dst.handle)
			})
		},
		func() error { return l.dst.Record(l.reached[1]) },
		func() error { return l.src.Wait(l.reached[1]) },
	)
}

// copyPiece goes through the piece of memory whose turn it is.
func (l *Link) copyPiece(dst *Buffer, dstOffset int64, src *Buffer, srcOffset, n int64) error {
	p := &l.pieces[l.next]
	l.next = (l.next + 1) % len(l.pieces)
	if p.used {
		if err := l.src.Wait(p.empty); err != nil {
			return err
		}
	}
	p.used = true
	return inOrder(
		func() error { return l.src.CopyOut(p.memory, 0, src, srcOffset, n) },
		func() error { return l.src.Record(p.filled) },
		func() error { return l.dst.Wait(p.filled) },
		func() error { return l.dst.CopyIn(dst, dstOffset, p.memory, 0, n) },
		func() error { return l.dst.Record(p.empty) },
	)
}

// inOrder takes steps up to the first that fails.
func inOrder(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// Close waits for both streams and frees what the link has.
func (l *Link) Close() error {
	err := errors.Join(l.src.Synchronize(), l.dst.Synchronize())
	for _, p := range l.pieces {
		if p.memory != nil {
			err = errors.Join(err, p.memory.Free())
		}
		for _, e := range []*Event{p.filled, p.empty} {
			if e != nil {
				err = errors.Join(err, e.Close())
			}
		}
	}
	for _, e := range l.reached {
		if e != nil {
			err = errors.Join(err, e.Close())
		}
	}
	return err
}
