package xray

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

const (
	// maxDownloads bounds how many copies of the ring are in memory at a time.
	maxDownloads = 4
	// pieceSize is how much of an answer a client must take within writeLimit.
	pieceSize = 64 << 10
)

// serveDownload sends the output of write. It drops a client that stops reading after writeLimit:
// otherwise the client would hold its copy of the ring, and a goroutine, for as long as it likes.
func (x *XRay) serveDownload(w http.ResponseWriter, format string, write func(io.Writer) error) {
	if !x.enterDownload() {
		w.Header().Set("Retry-After", strconv.Itoa(int(writeLimit.Seconds())))
		http.Error(w, fmt.Sprintf("%d downloads are under way already; try again when one of them "+
			"has ended", maxDownloads), http.StatusServiceUnavailable)
		return
	}
	defer x.leaveDownload()
	w.Header().Set("Content-Type", format)
	out := bufio.NewWriterSize(newLimited(w), pieceSize)
	if write(out) == nil {
		_ = out.Flush() // whoever would be told has gone
	}
}

func (x *XRay) enterDownload() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.downloads == maxDownloads {
		return false
	}
	x.downloads++
	return true
}

func (x *XRay) leaveDownload() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.downloads--
}

// limited gives a client writeLimit for each piece: one that reads slowly gets everything, and one
// that has stopped is noticed. The server removes the deadline after the answer.
type limited struct {
	w       io.Writer
	control *http.ResponseController
}

func newLimited(w http.ResponseWriter) limited { return limited{w, http.NewResponseController(w)} }

func (l limited) Write(p []byte) (int, error) {
	_ = l.control.SetWriteDeadline(time.Now().Add(writeLimit)) // a writer without one has none
	return l.w.Write(p)
}
