// Bug: a broken connection leads to a new list.

package informer

import (
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/watch"
	"time"
)

type machine struct {
	state      State
	backoff    Backoff
	streams    bool
	cursor     Cursor
	floor      string
	next       command
	open       bool
	since      time.Duration
	snapped    time.Duration
	quorum     bool
	whole      bool
	pages      int
	detour     bool
	unopened   int
	undivided  int
	unfinished int
	fruitless  int
	doubts     int
}

const tries = 3

const weight = 3

func (m machine) step(in input) (machine, action) {
	switch in.kind {
	case inBegin:
		return m.snapshot(deliverNothing, "")
	case inOpened:
		m.open, m.since, m.unopened = true, in.at, 0
		if m.state == StateConnecting {
			m.state = StateWatching
		}
		return m, action{do: doRead}
	case inEvent:
		if m.state == StateStreaming {
			return m.initialEvent(in)
		}
		return m.newsEvent(in)
	case inPage:
		return m.page(in)
	case inEnded:
		return m.ended(in)
	case inFailed:
		return m.failed(in)
	case inRested:
		return m.rested()
	default:
		m.state = StateStopped
		return m, action{deliver: deliverDiscard, do: doStop}
	}
}

func (m machine) snapshot(deliver delivery, reason string) (machine, action) {
	m.open, m.pages = false, 0
	act := action{deliver: deliver, version: m.floor, reason: reason}
	if m.quorum {
		act.version = ""
	}
	act.whole = m.whole || act.version != ""
	if m.streams && !m.detour {
		m.state, act.do = StateStreaming, doStream
	} else {
		m.state, act.do = StateListing, doList
	}
	return m, act
}

func (m machine) initialEvent(in input) (machine, action) {
	switch {
	case in.event != watch.Bookmark:
		return m, action{deliver: deliverCollect, do: doRead}
	case !in.last || in.version == "":
		m.streams = false
		return m.snapshot(deliverDiscard, "the server does not know WatchList: it sent a bookmark that ends nothing")
	case m.goesBack(in.version):
		return m.doubt(in)
	}
	return m.replaced(in, doRead)
}

func (m machine) page(in input) (machine, action) {
	m.unfinished = 0
	switch {
	case !in.last:
		m.pages++
		return m, action{deliver: deliverCollect, do: doPage}
	case m.goesBack(in.version):
		return m.doubt(in)
	}
	return m.replaced(in, doWatch)
}

func (m machine) replaced(in input, then command) (machine, action) {
	m.state, m.since, m.snapped = StateWatching, in.at, in.at
	if then == doWatch {
		m.state, m.open = StateConnecting, false
	}
	m.cursor, m.floor = m.cursor.Listed(in.version), in.version
	m.quorum, m.whole, m.pages, m.detour = false, false, 0, false
	m.unopened, m.undivided, m.unfinished, m.doubts = 0, 0, 0, 0
	return m, action{deliver: deliverReplace, do: then, version: in.version}
}

func (m machine) goesBack(version string) bool {
	order, err := resourceversion.CompareResourceVersion(version, m.floor)
	return err == nil && order < 0
}

func (m machine) doubt(in input) (machine, action) {
	if m.quorum {
		if m.doubts++; m.doubts == tries {
			m.floor = ""
		}
	}
	m.quorum = true
	return m.rest(in, doStream, deliverDiscard, "the server answered with resourceVersion "+in.version+", which is older than what was seen before")
}

func (m machine) newsEvent(in input) (machine, action) {
	m.fruitless = 0
	cursor, deliver := m.cursor.Saw(in.event, in.version)
	switch {
	case in.version != "" && m.goesBack(in.version):
		if !deliver {
			return m, action{do: doRead}
		}
		m.cursor = Cursor{}
		return m.rest(in, doStream, deliverNothing, "the server sent an event of resourceVersion "+in.version+" after that of "+m.floor)
	case deliver:
		m.cursor, m.floor = cursor, cursor.ResourceVersion()
		return m, action{deliver: deliverApply, do: doRead}
	case in.version == "":
		return m, action{do: doRead}
	}
	m.cursor, m.floor = cursor, cursor.ResourceVersion()
	return m, action{deliver: deliverProgress, do: doRead, version: m.floor}
}

func (m machine) ended(in input) (machine, action) {
	if m.state == StateStreaming {
		return m.failed(in)
	}
	var healthy bool
	if m.backoff, healthy = m.backoff.Lived(in.at - m.since); m.open && healthy {
		m.state, m.open = StateConnecting, false
		return m, action{do: doWatch, version: m.cursor.ResourceVersion()}
	}
	return m.rest(in, doWatch, deliverNothing, "the server ended the watch soon after its beginning")
}

func (m machine) failed(in input) (machine, action) {
	switch m.state {
	case StateStreaming:
		return m.streamsInVain(in).streamFailed(in)
	case StateListing:
		return m.listsInVain(in).listFailed(in)
	default:
		return m.watchFailed(in)
	}
}

func (m machine) streamsInVain(in input) machine {
	switch {
	case m.open:
	case in.answered:
		m.unopened += weight
	default:
		m.unopened++
	}
	return m
}

func (m machine) listsInVain(in input) machine {
	if m.floor != "" && !m.quorum && !m.cannotBeHad(in.fault) {
		m.undivided++
		m.quorum = m.undivided == tries
	}
	return m
}

func (m machine) streamFailed(in input) (machine, action) {
	switch {
	case in.fault == faultUnsupported:
		m.streams = false
		return m.snapshot(deliverDiscard, "the server refuses WatchList")
	case in.fault == faultStalled && m.open:
		m.streams = false
		return m.snapshot(deliverDiscard, "the initial events did not end in time")
	case m.cannotBeHad(in.fault):
		m.quorum = true
		return m.snapshot(deliverDiscard, "")
	case m.open:
		if m.unfinished++; m.unfinished == tries {
			m.streams = false
		}
	}
	return m.rest(in, doStream, deliverDiscard, "the stream ended before the initial events did")
}

func (m machine) listFailed(in input) (machine, action) {
	if m.pages > 0 {
		switch {
		case in.fault == faultExpired && !m.whole:
			m.whole = true
			return m.snapshot(deliverDiscard, "")
		case in.fault == faultBroken || in.fault == faultStalled:
			if m.unfinished++; m.unfinished < tries {
				return m.rest(in, doPage, deliverNothing, "")
			}
		}
	} else if m.cannotBeHad(in.fault) {
		m.quorum = true
		return m.snapshot(deliverDiscard, "")
	}
	m.whole = false
	return m.rest(in, doStream, deliverDiscard, "")
}

func (m machine) cannotBeHad(f fault) bool {
	return (f == faultExpired || f == faultTooLarge) && !m.quorum
}

func (m machine) watchFailed(in input) (machine, action) {
	if m.open {
		m.backoff, _ = m.backoff.Lived(in.at - m.since)
	}
	switch in.fault {
	case faultExpired, faultTooLarge, faultUnknownKind, faultUnsupported:
		m.backoff, _ = m.backoff.Lived(in.at - m.snapped)
		m.cursor = Cursor{}
		return m.rest(in, doStream, deliverNothing, "")
	}
	if m.open {
		if m.fruitless++; m.fruitless == tries {
			m.fruitless, m.cursor = 0, Cursor{}
			return m.rest(in, doStream, deliverNothing, "")
		}
	}
	m.cursor = Cursor{}
	return m.rest(in, doStream, deliverNothing, "")
}

func (m machine) rest(in input, next command, deliver delivery, reason string) (machine, action) {
	var pause time.Duration
	m.backoff, pause = m.backoff.Failed(in.asked, in.random)
	m.state, m.next, m.open = StateWaiting, next, false
	return m, action{deliver: deliver, do: doPause, pause: pause, reason: reason}
}

func (m machine) rested() (machine, action) {
	switch m.next {
	case doWatch:
		m.state = StateConnecting
		return m, action{do: doWatch, version: m.cursor.ResourceVersion()}
	case doPage:
		m.state = StateListing
		return m, action{do: doPage}
	default:
		if m.detour = m.unopened >= tries*weight; m.detour {
			m.unopened = 0
		}
		return m.snapshot(deliverNothing, "")
	}
}
