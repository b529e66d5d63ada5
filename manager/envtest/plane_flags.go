package envtest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/loopwright/loopwright/cluster"
)

// clientCA names the flag by which the API server knows whose client certificates are good.
const clientCA = "client-ca-file"

// arguments returns the command line of a part: the default one, as its flags change it.
func (p *ControlPlane) arguments(part cluster.Part, defaults []string) ([]string, error) {
	known := parseFlags(defaults)
	if part == cluster.Etcd {
		for name := range p.Etcd.Configure().values {
			if _, found := known[name]; !found {
				return nil, fmt.Errorf("the compiled etcd has no flag --%s: leave it out of Etcd.Configure()", name)
			}
		}
		return p.Etcd.Configure().AsStrings(known), nil
	}
	flags := p.APIServer.Configure()
	own := known[clientCA]
	theirs := flags.Get(clientCA).Get(own)
	line := flags.AsStrings(known)
	if len(theirs) != 1 || theirs[0] == own[0] {
		return line, nil
	}
	both, err := bundle(filepath.Join(p.dir, "client-ca.crt"), own[0], theirs[0])
	if err != nil {
		return nil, err
	}
	return append(line, "--"+clientCA+"="+both), nil // the last one counts
}

// bundle makes one file of two CAs: that of a user's Authn, and the control plane's own, by which we
// ourselves get in.
func bundle(path string, parts ...string) (string, error) {
	var all bytes.Buffer
	for _, part := range parts {
		content, err := os.ReadFile(part)
		if err != nil {
			return "", fmt.Errorf("reading the CA of clients: %w", err)
		}
		all.Write(append(content, '\n'))
	}
	if err := os.WriteFile(path, all.Bytes(), 0o600); err != nil {
		return "", fmt.Errorf("writing the CAs of clients: %w", err)
	}
	return path, nil
}

// parseFlags takes a command line apart, by the names of its flags.
func parseFlags(line []string) map[string][]string {
	flags := map[string][]string{}
	for _, argument := range line {
		name, value, _ := strings.Cut(strings.TrimPrefix(argument, "--"), "=")
		flags[name] = append(flags[name], value)
	}
	return flags
}
