package course

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// good is a machine on which everything works.
func good() machine {
	return machine{wanted: "1.26.0", goFound: "go1.26.3", caches: "/cache", free: 20 * gigabyte,
		memory: 16 * gigabyte, built: true}
}

func TestAGoodMachineHasNothingToDo(t *testing.T) {
	t.Parallel()
	for _, f := range good().findings() {
		assert.Equal(t, fine, f.state, f.text)
	}
}

// A learner who is sent home to install something must know what, and one whose machine is only
// slow must not be sent home.
func TestEachFaultOfAMachineHasASentenceThatSaysWhatToDo(t *testing.T) {
	t.Parallel()
	no := errors.New("not found")
	for name, c := range map[string]struct {
		fault func(*machine)
		state string
		want  string
	}{
		"old Go": {func(m *machine) { m.goFound = "go1.25.9" },
			stop, "Go 1.25.9 is too old. Install Go 1.26.0 or later from https://go.dev/dl/."},
		"no Go": {func(m *machine) { m.goErr = no },
			stop, "The go command does not answer (not found). Install Go 1.26.0"},
		"no git": {func(m *machine) { m.broken = map[string]error{"git": no} },
			note, "git does not answer (not found)."},
		"no make": {func(m *machine) { m.broken = map[string]error{"make": no} },
			stop, "make does not answer (not found). Install it"},
		"a full disk": {func(m *machine) { m.free = 2 * gigabyte },
			stop, "2 GB of disk are free at /cache, and the course needs 3 GB besides what is built already"},
		"no such disk": {func(m *machine) { m.free = 0 },
			note, "How much disk is free at /cache is unknown."},
		"8 GB": {func(m *machine) { m.memory = 7_600_000_000 },
			fine, "The machine has 8 GB of memory"},
		"6 GB": {func(m *machine) { m.memory = 6 * gigabyte },
			note, "The machine has 6 GB of memory, and 8 GB would be better."},
		"3 GB": {func(m *machine) { m.memory = 3 * gigabyte },
			stop, "The machine has 3 GB of memory, and the course needs 8 GB."},
		"no memory": {func(m *machine) { m.memory = 0 },
			note, "How much memory there is is unknown."},
		"no loopback": {func(m *machine) { m.portErr = no },
			stop, "No program can listen on 127.0.0.1 (not found)."},
		"nothing built": {func(m *machine) { m.built = false },
			note, "The control plane is not built yet. `make warm` does that"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := good()
			c.fault(&m)
			var found []finding
			for _, f := range m.findings() {
				if f.state != fine || strings.HasPrefix(f.text, c.want) {
					found = append(found, f)
				}
			}
			require.Len(t, found, 1, "one fault is said once")
			assert.Equal(t, c.state, found[0].state)
			assert.Contains(t, found[0].text, c.want)
		})
	}
}

func TestTheFirstBuildNeedsMoreDiskThanADay(t *testing.T) {
	t.Parallel()
	m := good()
	m.free = 9 * gigabyte
	assert.Equal(t, fine, m.judgeDisk().state)
	assert.Contains(t, m.judgeDisk().text, "the course needs 3 GB besides what is built already.")
	m.built = false
	assert.Equal(t, stop, m.judgeDisk().state)
	assert.Contains(t, m.judgeDisk().text, "9 GB of disk are free at /cache, and the course needs 10 GB, for")
}

// A script that prepares a room needs the answer, and a learner who lacks something does not need
// to wait for a cluster that cannot start.
func TestAMachineIsReadyIfNothingStopsALearner(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		found, cluster string
		ready, tried   bool
	}{
		{fine, fine, true, true},
		{note, note, true, true},
		{stop, fine, false, false},
		{fine, stop, false, true},
	} {
		tried := false
		var out strings.Builder
		cluster := func() finding { tried = true; return finding{c.cluster, "The cluster."} }
		ready := report([]finding{{c.found, "A thing."}, {fine, "Another."}}, cluster, &out)
		assert.Equal(t, c.ready, ready, "%+v", c)
		assert.Equal(t, c.tried, tried, "%+v", c)
		assert.Equal(t, c.ready, strings.HasSuffix(out.String(), "\nThis machine is ready.\n"))
	}
}

// fakeCluster is a cluster command that writes down how it was called.
func fakeCluster(up string) string {
	return `package main

import (
	"fmt"
	"os"
)

func main() {
	f, _ := os.OpenFile("calls", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	fmt.Fprintln(f, os.Args[1], os.Getenv("CLUSTER"), os.Getenv("LOOPWRIGHT_DIR"), os.Getenv("PORT"))
	fmt.Fprintln(os.Stderr, os.Args[1], "at work")
	fmt.Println("Point kubectl at it")
	if os.Args[1] == "up" {
		` + up + `
	}
}
`
}

// The cluster on which a learner works must outlive a check of the machine, and a cluster that was
// started for the check must not.
func TestTheDoctorStartsAClusterOfItsOwnAndRemovesIt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		up, state, want string
	}{
		"it starts":     {"", fine, "A cluster has started, after "},
		"it does not":   {"os.Exit(3)", stop, "No cluster starts. The lines above say why"},
		"it is crashed": {"panic(1)", stop, "No cluster starts."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := tinyTree(t, map[string]string{clusterCommand + "/main.go": fakeCluster(c.up)})
			r.Env = append(r.Env, "CLUSTER=kind", "PORT=6443")
			var out strings.Builder
			f := r.tryCluster(t.Context(), &out)
			assert.Equal(t, c.state, f.state)
			assert.Contains(t, f.text, c.want)
			dir := r.Abs(stateDir + "/doctor")
			assert.Equal(t, "up embedded "+dir+" \ndown embedded "+dir+" \n", read(t, r, "calls"))
			assert.Contains(t, out.String(), "up at work")
			assert.NotContains(t, out.String(), "kubectl", "the cluster is gone by then")
			assert.NoDirExists(t, dir)
		})
	}
}

// This machine runs the tests of the course, so it has what the course needs to be compiled.
func TestTheDoctorFindsOutAboutThisMachine(t *testing.T) {
	t.Parallel()
	r := tinyTree(t, nil)
	m := r.examine(t.Context())
	require.NoError(t, m.goErr)
	assert.Equal(t, "1.26", m.wanted)
	assert.Regexp(t, `^go1\.\d+`, m.goFound)
	assert.NotEmpty(t, m.caches)
	assert.Positive(t, m.free)
	assert.Greater(t, m.memory, int64(100_000_000))
	assert.NoError(t, m.portErr)

	var out strings.Builder
	_, err := r.Doctor(t.Context(), false, &out)
	require.NoError(t, err)
	assert.Contains(t, out.String(), "ok    Go 1.")
	assert.NotContains(t, out.String(), "luster ...", "it was told to start none")
}
