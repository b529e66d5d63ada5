package envtest

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/loopwright/loopwright/cluster"
)

func write(t testing.TB, path, content string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
}

func read(t testing.TB, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(content)
}

func TestWhatCannotBeHadIsRefusedBeforeAnythingStarts(t *testing.T) {
	somewhere := &url.URL{Host: "elsewhere"}
	for says, set := range map[string]func(*Environment){
		"APIServer.Path": func(e *Environment) {
			e.ControlPlane.GetAPIServer().Path = "/bin/kube-apiserver"
		},
		"APIServer.CertDir": func(e *Environment) {
			e.ControlPlane.GetAPIServer().CertDir = "/certs"
		},
		"APIServer.EtcdURL": func(e *Environment) {
			e.ControlPlane.GetAPIServer().EtcdURL = somewhere
		},
		"on 127.0.0.1 alone": func(e *Environment) {
			e.ControlPlane.GetAPIServer().Address = "0.0.0.0"
		},
		"SecureServing.Port": func(e *Environment) {
			e.ControlPlane.GetAPIServer().Port = "https"
		},
		"Etcd.Path": func(e *Environment) {
			e.ControlPlane.Etcd = &Etcd{Path: "/bin/etcd"}
		},
		"Etcd.URL": func(e *Environment) {
			e.ControlPlane.Etcd = &Etcd{URL: somewhere}
		},
		"Etcd.DataDir": func(e *Environment) {
			e.ControlPlane.Etcd = &Etcd{DataDir: "/data"}
		},
		"leave the version out": func(e *Environment) {
			e.DownloadBinaryAssetsVersion = "v1.31.0"
		},
		startTimeoutVariable + "=": func(*Environment) { t.Setenv(startTimeoutVariable, "20") },
		stopTimeoutVariable + "=":  func(*Environment) { t.Setenv(stopTimeoutVariable, "-1s") },
		attachVariable + "=":       func(*Environment) { t.Setenv(attachVariable, "yes") },
		existingVariable + "=":     func(*Environment) { t.Setenv(existingVariable, "maybe") },
	} {
		for _, name := range []string{startTimeoutVariable, stopTimeoutVariable, attachVariable,
			existingVariable} {
			t.Setenv(name, "")
		}
		environment := &Environment{}
		set(environment)
		_, err := environment.Start()
		assert.ErrorContains(t, err, says)
	}
}

func TestAUserOfAStoppedControlPlaneIsAClearError(t *testing.T) {
	environment := &Environment{}
	_, err := environment.AddUser(User{Name: "ann"}, nil)
	assert.ErrorContains(t, err, "adding the user ann: there is no control plane")
	assert.NoError(t, environment.Stop(), "stopping what never ran")
	assert.ErrorContains(t, environment.ControlPlane.GetAPIServer().Start(),
		"Start the Environment")
	assert.NoError(t, environment.ControlPlane.APIServer.Stop())
	assert.Panics(t, func() { (&AuthenticatedUser{plane: &environment.ControlPlane}).Config() })
}

func TestTheVariablesCountWhereTheFieldsSayNothing(t *testing.T) {
	t.Setenv(startTimeoutVariable, "70s")
	t.Setenv(stopTimeoutVariable, "")
	t.Setenv(attachVariable, "true")
	environment := &Environment{ControlPlaneStopTimeout: 5 * time.Second,
		DownloadBinaryAssets: true, DownloadBinaryAssetsVersion: cluster.KubernetesVersion()}
	require.NoError(t, environment.applySettings())
	assert.Equal(t, 70*time.Second, environment.ControlPlane.APIServer.StartTimeout)
	assert.Equal(t, 5*time.Second, environment.ControlPlane.Etcd.StopTimeout)
	assert.Equal(t, os.Stderr, environment.ControlPlane.Etcd.Err)
	t.Setenv(startTimeoutVariable, "")
	environment = &Environment{}
	require.NoError(t, environment.applySettings())
	assert.Equal(t, time.Minute, environment.ControlPlane.Etcd.StartTimeout)

	for value, want := range map[string]bool{"true": true, "1": true, "false": false, "": false} {
		t.Setenv(existingVariable, value)
		existing, err := (&Environment{}).usesExistingCluster()
		require.NoError(t, err)
		assert.Equal(t, want, existing, value)
		no := false
		existing, err = (&Environment{UseExistingCluster: &no}).usesExistingCluster()
		require.NoError(t, err)
		assert.False(t, existing, "the field says it")
	}
}

func TestAKubeconfigReachesWhatItsConfigurationReaches(t *testing.T) {
	for host, want := range map[string]string{
		"https://127.0.0.1:6443/":     "https://127.0.0.1:6443/",
		"https://cluster/with/a/path": "https://cluster/with/a/path",
		"127.0.0.1:6443":              "https://127.0.0.1:6443",
		"localhost:6443":              "https://localhost:6443",
	} {
		content, err := kubeconfigOf(&rest.Config{
			Host: host, BearerToken: "sesame",
			TLSClientConfig: rest.TLSClientConfig{CAData: []byte("ca"), CertData: []byte("cert"),
				KeyData: []byte("key")},
		})
		require.NoError(t, err)
		config, err := clientcmd.RESTConfigFromKubeConfig(content)
		require.NoError(t, err)
		assert.Equal(t, want, config.Host)
		assert.Equal(t, "sesame", config.BearerToken)
		assert.Equal(t, "ca cert key",
			string(config.CAData)+" "+string(config.CertData)+" "+string(config.KeyData))
	}
}

func TestTheDirectoryOfSetupEnvtestIsNamed(t *testing.T) {
	t.Setenv("XDG_DATA_HOME", "/data")
	dir, err := SetupEnvtestDefaultBinaryAssetsDirectory()
	require.NoError(t, err)
	assert.Contains(t, []string{"kubebuilder-envtest", "io.kubebuilder.envtest"},
		filepath.Base(dir))
}

func TestAFlagBecomesWhatWasAskedOfIt(t *testing.T) {
	defaults := map[string][]string{"a": {"1", "2"}, "b": {"3"}}
	for _, c := range []struct {
		want  string
		flags *Arguments
	}{
		{"--a=1 --a=2 --b=3", EmptyArguments()},
		{"--a=1 --a=2 --a=4 --b=3", EmptyArguments().Append("a", "4")},
		{"--a=1 --a=2 --a=4 --a=5 --b=3", EmptyArguments().Append("a", "4").Append("a", "5")},
		{"--a=4 --b=3", EmptyArguments().AppendNoDefaults("a", "4")},
		{"--a=4 --a=5 --b=3", EmptyArguments().Set("a", "4").Append("a", "5")},
		{"--a=6 --b=3", EmptyArguments().Append("a", "4").Set("a", "6")},
		{"--a --b=3", EmptyArguments().Enable("a").Append("a", "4")},
		{"--b=3", EmptyArguments().Disable("a")},
		{"--a=4 --b=3", EmptyArguments().Disable("a").Append("a", "4")},
		{"--a=1 --a=2 --b=3 --c=7 --c=8", EmptyArguments().Append("c", "7", "8")},
		{"--a=1 --a=2 --b=3 --d", EmptyArguments().Enable("d")},
		{"--a=9 --b=3", EmptyArguments().SetRaw("a", chosen{"9"})},
	} {
		assert.Equal(t, c.want, strings.Join(c.flags.AsStrings(defaults), " "))
	}
	assert.Nil(t, (&Arguments{}).Disable("a").Get("a").Get([]string{"1"}),
		"the zero value is ready for use")
}

func TestAnAppendLeavesWhatWasThereBeforeAlone(t *testing.T) {
	before := chosen(append(make([]string, 0, 4), "1"))
	first, second := before.Append("2"), before.Append("3")
	assert.Equal(t, []string{"1", "2"}, first.Get(nil))
	assert.Equal(t, []string{"1", "3"}, second.Get(nil))
}

func TestAFlagThatTheCompiledEtcdLacksIsRefused(t *testing.T) {
	plane := &ControlPlane{}
	plane.getEtcd().Configure().Set("quota-backend-bytes", "1")
	_, err := plane.arguments(cluster.Etcd, []string{"--data-dir=/d"})
	assert.ErrorContains(t, err, "has no flag --quota-backend-bytes")
}

func TestTwoCAsOfClientsBecomeOneFile(t *testing.T) {
	dir := t.TempDir()
	own, theirs := dir+"/own", dir+"/theirs"
	write(t, own, "own")
	write(t, theirs, "theirs")
	plane := &ControlPlane{dir: dir}
	plane.GetAPIServer().Configure().Set(clientCA, theirs)
	line, err := plane.arguments(cluster.APIServer, []string{"--" + clientCA + "=" + own, "--a=1"})
	require.NoError(t, err)
	assert.Equal(t, "--"+clientCA+"="+dir+"/client-ca.crt", line[len(line)-1])
	assert.Equal(t, "own\ntheirs\n", read(t, dir+"/client-ca.crt"),
		"either we or the users are locked out")

	plane.GetAPIServer().Configure().Set(clientCA, dir+"/none")
	_, err = plane.arguments(cluster.APIServer, []string{"--" + clientCA + "=" + own})
	assert.ErrorContains(t, err, "reading the CA of clients")
}
