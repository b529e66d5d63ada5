package config

import (
	"errors"
	"flag"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/loopwright/loopwright/manager/internal/logtest"
)

// places are all the places in which there may be a configuration. Their servers have their names.
type places struct{ flag, env, home string }

// setUp makes the places, of which none counts before the test says so.
func setUp(t *testing.T) places {
	t.Helper()
	home := t.TempDir()
	write := func(name, file string) string {
		config := clientcmdapi.NewConfig()
		for context, server := range map[string]string{"first": name, "second": name + "-second"} {
			config.Clusters[context] = &clientcmdapi.Cluster{Server: "https://" + server}
			config.Contexts[context] = &clientcmdapi.Context{Cluster: context}
		}
		config.CurrentContext = "first"
		require.NoError(t, clientcmd.WriteToFile(*config, file))
		return file
	}
	p := places{flag: write("flag", filepath.Join(home, "flag")), env: write("env", filepath.Join(home, "env")), home: write("home", filepath.Join(home, ".kube", "config"))}
	t.Setenv("KUBECONFIG", "")
	t.Setenv("HOME", t.TempDir())
	before := inCluster
	inCluster = func() (*rest.Config, error) { return nil, rest.ErrNotInCluster }
	t.Cleanup(func() {
		inCluster = before
		require.NoError(t, flag.Set(KubeconfigFlagName, ""))
	})
	return p
}

func host(t *testing.T, context string) string {
	t.Helper()
	config, err := GetConfigWithContext(context)
	require.NoError(t, err)
	return config.Host
}

// recommendedHomeFile is decided when clientcmd is loaded, so that the home directory of a test
// has to be put into the rules.
func setHome(t *testing.T, file string) {
	t.Helper()
	before := clientcmd.RecommendedHomeFile
	clientcmd.RecommendedHomeFile = file
	t.Cleanup(func() { clientcmd.RecommendedHomeFile = before })
}

// A program that is tried out at home must not talk to the cluster that it runs in, and one in a pod
// must not need a file.
func TestTheFirstPlaceThatHasAConfigurationCounts(t *testing.T) {
	p := setUp(t)
	setHome(t, p.home)
	require.Equal(t, "https://home", host(t, ""))
	require.Equal(t, "https://home-second", host(t, "second"))
	inCluster = func() (*rest.Config, error) { return &rest.Config{Host: "https://cluster"}, nil }
	require.Equal(t, "https://cluster", host(t, ""))
	t.Setenv("KUBECONFIG", p.env)
	require.Equal(t, "https://env", host(t, ""))
	require.Equal(t, "https://env-second", host(t, "second"))
	require.NoError(t, flag.Set(KubeconfigFlagName, p.flag))
	require.Equal(t, "https://flag", host(t, ""))
	require.Equal(t, "https://flag-second", host(t, "second"))
	config, err := GetConfig()
	require.NoError(t, err)
	require.Equal(t, "https://flag", config.Host)
	require.Equal(t, "https://flag", GetConfigOrDie().Host)
}

// A service that init starts has no HOME, and its user has one all the same.
func TestWithoutHomeItIsTheUsersDirectory(t *testing.T) {
	p := setUp(t)
	setHome(t, filepath.Join(t.TempDir(), "none"))
	found, failure := &user.User{HomeDir: filepath.Dir(filepath.Dir(p.home))}, error(nil)
	before := currentUser
	currentUser = func() (*user.User, error) { return found, failure }
	t.Cleanup(func() { currentUser = before })
	_, err := GetConfig()
	require.True(t, clientcmd.IsEmptyConfig(err), "HOME is set, and says where: %v", err)
	require.NoError(t, os.Unsetenv("HOME")) // setUp sets it back
	require.Equal(t, "https://home", host(t, ""))
	found, failure = nil, errors.New("no such user")
	_, err = GetConfig()
	require.ErrorIs(t, err, failure)
}

// To the server's own limits, one of the client only adds waiting.
func TestRequestsAreNotLimitedUnlessSomebodyAsksForIt(t *testing.T) {
	setUp(t)
	limit := float32(0)
	inCluster = func() (*rest.Config, error) { return &rest.Config{Host: "https://cluster", QPS: limit}, nil }
	config, err := GetConfig()
	require.NoError(t, err)
	require.EqualValues(t, -1, config.QPS)
	require.Nil(t, config.RateLimiter)
	limit = 50
	config, err = GetConfig()
	require.NoError(t, err)
	require.EqualValues(t, 50, config.QPS)
}

func TestNoConfigurationAtAllIsAnErrorThatSaysWhereItWasLookedFor(t *testing.T) {
	p := setUp(t)
	setHome(t, filepath.Join(t.TempDir(), "none"))
	inCluster = func() (*rest.Config, error) { return nil, errors.New("no token") }
	log := logtest.Read(t)
	_, err := GetConfig()
	require.True(t, clientcmd.IsEmptyConfig(err), "%v", err)
	require.Contains(t, log.String(), "no token")
	log.Reset()
	setHome(t, p.home)
	require.Equal(t, "https://home", host(t, ""))
	require.Empty(t, log.String(), "a program that is tried out at home is all right")
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "missing"))
	_, err = GetConfig()
	require.Error(t, err)
	require.Empty(t, log.String(), "nobody has looked for the configuration of a pod")
	require.NoError(t, flag.Set(KubeconfigFlagName, p.flag+"-missing"))
	_, err = GetConfig()
	require.ErrorIs(t, err, os.ErrNotExist)
	require.NoError(t, flag.Set(KubeconfigFlagName, p.flag))
	_, err = GetConfigWithContext("third")
	require.ErrorContains(t, err, `context "third" does not exist`)
}

func TestWithoutAConfigurationTheProcessEnds(t *testing.T) {
	if os.Getenv("TEST_OR_DIE") != "" {
		GetConfigOrDie()
		return
	}
	command := exec.Command(os.Args[0], "-test.run=TestWithoutAConfigurationTheProcessEnds$")
	command.Env = append(os.Environ(), "TEST_OR_DIE=1", "HOME="+t.TempDir(), "KUBECONFIG=/nowhere/at/all", "KUBERNETES_SERVICE_HOST=")
	output, err := command.CombinedOutput()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	require.Equal(t, 1, exit.ExitCode())
	require.Contains(t, string(output), "There is no configuration for a client")
}

func TestTheFlagIsThereAndCanBeHadInOtherSets(t *testing.T) {
	p := setUp(t)
	before := kubeconfig.flags
	t.Cleanup(func() { kubeconfig.flags = before })
	require.NotNil(t, flag.Lookup(KubeconfigFlagName), "programs rely on it")
	RegisterFlags(nil) // and may ask for it again

	own := flag.NewFlagSet("own", flag.ContinueOnError)
	RegisterFlags(own)
	require.NoError(t, own.Parse([]string{"--kubeconfig", p.flag}))
	require.Equal(t, "https://flag", host(t, ""))

	others := flag.NewFlagSet("others", flag.ContinueOnError)
	file := others.String(KubeconfigFlagName, "", "made by somebody else")
	RegisterFlags(others)
	require.NoError(t, others.Parse([]string{"--kubeconfig", p.env}))
	require.Equal(t, p.env, *file)
	require.Equal(t, "https://env", host(t, ""), "a flag that somebody else has made is read after it was parsed")
	require.NoError(t, others.Set(KubeconfigFlagName, ""))
	require.Equal(t, "https://flag", host(t, ""), "one that is not set does not hide the others")
}
