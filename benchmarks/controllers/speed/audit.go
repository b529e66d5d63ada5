package speed

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
)

// auditPolicy notes each write when it has been answered, and nothing else.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
rules:
- level: Metadata
  users: [originals, ours]
  verbs: [create, update, patch, delete, deletecollection]
- level: None
`

// audit reads the API server's audit log.
type audit struct {
	path string
	from int64 // where what counts begins
}

// forget leaves out what is in the log by now.
func (a *audit) forget() error {
	info, err := os.Stat(a.path)
	if os.IsNotExist(err) {
		return nil
	}
	if err == nil {
		a.from = info.Size()
	}
	return err
}

// writes counts what a user has written, by verb and resource.
func (a *audit) writes(user string) (map[string]int, error) {
	file, err := os.Open(a.path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	if _, err := file.Seek(a.from, 0); err != nil {
		return nil, err
	}
	counts, lines := map[string]int{}, bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var entry struct {
			Verb      string
			User      struct{ Username string }
			ObjectRef struct{ Resource, Subresource string }
		}
		if err := json.Unmarshal(lines.Bytes(), &entry); err != nil {
			return nil, fmt.Errorf("reading the audit log: %w", err)
		}
		if entry.User.Username != user {
			continue
		}
		what := entry.Verb + " " + entry.ObjectRef.Resource
		if entry.ObjectRef.Subresource != "" {
			what += "/" + entry.ObjectRef.Subresource
		}
		counts[what]++
	}
	return counts, lines.Err()
}
