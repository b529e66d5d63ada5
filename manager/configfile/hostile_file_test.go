package configfile

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/manager"
	"github.com/loopwright/loopwright/manager/cache"
)

// A file that's being written, or isn't what it should be, is an error, and the program goes on
// with what it has, if it likes. It never runs with a half of the settings.
func TestAFileThatIsDamagedIsAnErrorAndChangesNothing(t *testing.T) {
	for name, content := range map[string]string{
		"nothing":                    "",
		"a comment":                  "# later\n",
		"a document without a word":  "---\n",
		"null":                       "null\n",
		"a list":                     "- a\n- b\n",
		"zeros, after a crash":       strings.Repeat("\x00", 512),
		"something binary":           "\xff\xfe\x00a",
		"a second document":          everything + "---\nmanager: {strict: false}\n",
		"a second one that's broken": everything + "---\nmanager: {strict: false\n",
		"a second one, of a list":    everything + "---\n- strict\n",
		"a tab":                      header + "manager:\n\tstrict: true\n",
		"an alias of nothing":        header + "manager: *missing\n",
		"an alias of itself":         header + "manager: &m\n  leaderElection: *m\n",
		"a merge of another mapping": header +
			"manager: &m {strict: true}\ncontrollerDefaults: {<<: *m}\n",
		"a setting twice":                           header + "manager:\n  strict: true\n  strict: false\n",
		"a controller twice":                        header + "controllers: {a: {workers: 1}, a: {workers: 2}}\n",
		"a controller without a name":               header + "controllers: {[a]: {workers: 1}}\n",
		"an empty list, which is no way to say all": header + "manager: {namespaces: []}\n",
		"a mapping where text belongs": header +
			"manager: {leaderElection: {id: {name: website}}}\n",
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "config.yaml")
			require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
			c := parse(t, everything)
			before := parse(t, everything)
			require.Error(t, Load(path, &c))
			require.Equal(t, before, c)
		})
	}
}

// The file is fine until its last line. What came before the mistake must not stay.
func TestAFileWithOneMistakeAtItsEndChangesNothing(t *testing.T) {
	better := strings.NewReplacer("workers: 4", "workers: 9", "id: website", "id: shop",
		"namespaces: [shop, bank]", "namespaces: [other]").Replace(everything)
	require.NotEqual(t, everything, better)
	c := parse(t, everything)
	require.Error(t, Parse("config.yaml", []byte(better+"  bank: {worker: 1}\n"), &c))
	require.Equal(t, parse(t, everything), c)
	require.Error(t, Parse("config.yaml", []byte(better+"  bank: {workers: 0}\n"), &c))
	require.Equal(t, parse(t, everything), c)
	require.NoError(t, Parse("config.yaml", []byte(better), &c))
	require.Equal(t, 9, *c.Controllers["website"].Workers)
}

// A ConfigMap's volume is a directory, and so is what a wrong path names.
func TestADirectoryIsAnErrorThatNamesIt(t *testing.T) {
	dir := t.TempDir()
	var c Config
	require.ErrorContains(t, Load(dir, &c), dir)
	require.Equal(t, Config{}, c)
}

// Each prefix of a file may be what a reader finds while it's written. It's whole, or an error, or
// has settings that are the file's own: the library can't know that there are more to come. But it
// never crashes, and an error changes nothing.
func TestEveryPrefixOfAFileIsAnErrorThatChangesNothingOrSettingsOfTheFile(t *testing.T) {
	full := parse(t, everything)
	for n := range len(everything) {
		c := Config{}
		if Parse("config.yaml", []byte(everything[:n]), &c) != nil {
			require.Equal(t, Config{}, c, "%d bytes", n)
			continue
		}
		if c.Manager.Strict != nil {
			require.Equal(t, full.Manager.Strict, c.Manager.Strict, "%d bytes", n)
		}
		for name := range c.Controllers {
			require.Truef(t, strings.HasPrefix("website", name) || strings.HasPrefix("shop", name),
				"%d bytes: %s", n, name)
		}
	}
}

// The file is fine, and a flag contradicts it. The program may go on with its own options, so they
// must not be half of one and half of the other.
func TestFlagsThatContradictTheFileLeaveTheOptionsOfTheManagerAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.yaml")
	require.NoError(t, os.WriteFile(path, []byte(everything), 0o600))
	options := manager.Options{LeaderElectionID: "mine", RenewDeadline: new(7 * time.Second)}
	before := options
	set := flag.NewFlagSet("", flag.ContinueOnError)
	flags := BindFlags(set)
	require.NoError(t, set.Parse([]string{"--config", path,
		"--set", "manager.leaderElection.leaseDuration=1s"}))
	require.ErrorContains(t, flags.ApplyTo(&options), "must be longer than")
	require.Equal(t, before, options)
	require.Equal(t, 7*time.Second, *options.RenewDeadline)
	require.False(t, options.LeaderElection)
}

// A program fills in the Config by itself, and leaves fields nil or empty. That's not set, and no
// reason to panic or to watch all namespaces.
func TestAFieldThatIsNilOrEmptyIsNotSet(t *testing.T) {
	c := Config{Manager: Manager{Namespaces: []string{}},
		Controllers: map[string]*Controller{"website": nil, "bank": {}}}
	options := manager.Options{Cache: cache.Options{
		DefaultNamespaces: map[string]cache.Config{"shop": {}}}}
	c.ApplyTo(&options)
	require.Contains(t, options.Cache.DefaultNamespaces, "shop")
	require.NoError(t, Parse("config.yaml", []byte(everything), &c))
	require.Equal(t, 4, *c.Controllers["website"].Workers)

	nothing := Config{Controllers: map[string]*Controller{"website": nil}}
	require.NoError(t, Parse("config.yaml", []byte(header), &nothing))
	require.Equal(t, Controller{}, nothing.Controller("website"))
}
