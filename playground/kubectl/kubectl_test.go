package kubectl_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/playground/world"
)

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.NewTextHandler(io.Discard, nil)))
	os.Exit(m.Run())
}

// prompt is a shell on a cluster in which three Pods of a Deployment run.
type prompt struct {
	*testing.T
	world *world.World
	ctx   context.Context
}

func atPrompt(t *testing.T, test func(p *prompt)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w, err := world.New(world.Options{})
		require.NoError(t, err)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- w.Run(ctx) }()
		defer func() {
			stop()
			require.NoError(t, <-ended)
		}()
		p := &prompt{t, w, ctx}
		p.pass(2 * time.Second)
		p.says("create deployment web --image=web:1 --replicas=3", "deployment.apps/web created\n")
		p.pass(10 * time.Second)
		test(p)
	})
}

func (p *prompt) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// run runs a line, and returns what is on the screen after it.
func (p *prompt) run(line string, input ...string) string {
	p.Helper()
	var out bytes.Buffer
	if err := p.world.Kubectl.Run(p.ctx, line, strings.Join(input, ""), &out); err != nil {
		out.WriteString(err.Error() + "\n")
	}
	synctest.Wait()
	return out.String()
}

func (p *prompt) says(line, want string) {
	p.Helper()
	require.Equal(p, want, p.run(line), line)
}

// during runs a line that waits for something, and returns what it has printed when act is over.
func (p *prompt) during(line string, act func()) string {
	p.Helper()
	var out bytes.Buffer
	ctx, stop := context.WithCancel(p.ctx)
	ended := make(chan error, 1)
	go func() { ended <- p.world.Kubectl.Run(ctx, line, "", &out) }()
	synctest.Wait()
	act()
	synctest.Wait()
	stop()
	if err := <-ended; err != nil {
		out.WriteString(err.Error() + "\n")
	}
	return out.String()
}

// The columns are the ones that kubectl 1.36 prints; whoever knows them reads on here.
func TestGetPrintsWhatKubectlPrints(t *testing.T) {
	atPrompt(t, func(p *prompt) {
		p.says("get deployments", ""+
			"NAME   READY   UP-TO-DATE   AVAILABLE   AGE\n"+
			"web    3/3     3            3           10s\n")
		p.says("kubectl get deploy web -o wide", ""+
			"NAME   READY   UP-TO-DATE   AVAILABLE   AGE   CONTAINERS   IMAGES   SELECTOR\n"+
			"web    3/3     3            3           10s   web          web:1    app=web\n")
		p.says("get nodes", ""+
			"NAME     STATUS   ROLES    AGE   VERSION\n"+
			"node-1   Ready    <none>   12s   v1.36.3\n"+
			"node-2   Ready    <none>   12s   v1.36.3\n"+
			"node-3   Ready    <none>   12s   v1.36.3\n")
		p.says("get no node-2 --no-headers", "node-2   Ready   <none>   12s   v1.36.3\n")
		pods := strings.Split(p.run("get pods"), "\n")
		require.Len(p, pods, 5)
		require.Regexp(p, `^NAME +READY   STATUS    RESTARTS   AGE$`, pods[0])
		require.Regexp(p, `^web-[a-z0-9]{8,10}-[a-z0-9]{5}   1/1     Running   0          10s$`, pods[1])
		require.Regexp(p, `^NAME +READY   STATUS    RESTARTS   AGE   IP +NODE     NOMINATED NODE   READINESS GATES\n`, p.run("get po -owide"))
		require.Regexp(p, `^NAMESPACE   NAME   READY`, p.run("get deploy -A"))
		require.Regexp(p, `LABELS\nweb .* app=web\n$`, p.run("get deploy --show-labels"))
		require.Regexp(p, `^pod/web-\S+\npod/web-\S+\npod/web-\S+\n$`, p.run("get pods -o name -l app=web"))
		p.says("get pods -l app=api", "No resources found in default namespace.\n")
		p.says("get jobs -A", "No resources found\n")
		all := p.run("get all")
		require.Regexp(p, `(?s)^NAME +READY.*pod/web-.*\n\nNAME .*deployment.apps/web   3/3.*\n\nNAME .*replicaset.apps/web-`, all)
		require.Contains(p, p.run("get deploy web -o yaml"), "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n")
		require.NotContains(p, p.run("get deploy web -o yaml"), "managedFields")
		require.Regexp(p, `(?s)^apiVersion: v1\nitems:\n- apiVersion: v1.*kind: List\nmetadata:\n  resourceVersion: ""\n$`, p.run("get pods -o yaml"))
		require.Contains(p, p.run("get ns default -o json"), `"kind": "Namespace"`)
	})
}

// A rollout that one watches in the prompt, as in a terminal.
func TestAWatchGoesOnWithWhatChanges(t *testing.T) {
	atPrompt(t, func(p *prompt) {
		out := p.during("get deploy -w", func() {
			p.says("scale deployment web --replicas=4", "deployment.apps/web scaled\n")
			p.pass(5 * time.Second)
		})
		require.Regexp(p, `(?s)^NAME   READY   UP-TO-DATE   AVAILABLE   AGE\n`+
			`web    3/3     3            3           10s\nweb    3/4     3            3           10s\n.*web    4/4     4            4           1\ds\n$`, out)
		require.Equal(p, 1, strings.Count(out, "NAME"))
	})
}

// The server ends each watch after a while. Nothing may be missing then, and nothing may come twice.
func TestAWatchThatTheServerEndsGoesOnWhereItWas(t *testing.T) {
	atPrompt(t, func(p *prompt) {
		cut := 0
		p.world.Server.Inject(fakeapi.Fault{
			Match: fakeapi.Match{Verb: "watch", Resource: "nodes", UserAgent: "kubectl"},
			Times: 2, CutAfterEvents: 1, OnHit: func(fakeapi.Request) { cut++ },
		})
		out := p.during("get no -w --no-headers --show-labels", func() {
			for _, label := range []string{"at=1", "at=2", "at=3"} {
				p.says("label node node-1 --overwrite "+label, "node/node-1 labeled\n")
			}
		})
		require.Equal(p, 2, cut)
		require.Regexp(p, `^(node-\d .*\n){3}node-1 .* at=1,.*\nnode-1 .* at=2,.*\nnode-1 .* at=3,.*\n$`, out)
	})
}

// A page that doesn't take any more must not keep a watch open, and a watch that fails must say why.
func TestAWatchThatCantGoOnEnds(t *testing.T) {
	atPrompt(t, func(p *prompt) {
		gone := &closing{rows: 2}
		ended := make(chan error, 1)
		go func() { ended <- p.world.Kubectl.Run(p.ctx, "get deploy -w", "", gone) }()
		synctest.Wait()
		p.says("scale deployment web --replicas=4", "deployment.apps/web scaled\n")
		p.pass(time.Second)
		require.ErrorIs(p, <-ended, io.ErrClosedPipe)

		p.world.Server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "watch", UserAgent: "kubectl"}, Status: fakeapi.Unavailable()})
		require.Contains(p, p.run("get deploy -w"), "unable to handle the request")
	})
}

// closing takes some rows, and then none.
type closing struct{ rows int }

func (c *closing) Write(text []byte) (int, error) {
	if c.rows -= bytes.Count(text, []byte("\n")); c.rows < 0 {
		return 0, io.ErrClosedPipe
	}
	return len(text), nil
}

func TestARolloutIsFollowedUndoneAndListed(t *testing.T) {
	atPrompt(t, func(p *prompt) {
		p.says("rollout status deploy/web", `deployment "web" successfully rolled out`+"\n")
		p.says("rollout undo deployment web", `error: no rollout history found for deployment "web"`+"\n")
		p.says("set image deployment/web web=web:2", "deployment.apps/web image updated\n")
		status := p.run("rollout status deployment/web")
		require.Regexp(p, `^(Waiting for deployment spec update to be observed...\n)?`+
			`Waiting for deployment "web" rollout to finish: \d out of 3 new replicas have been updated...\n`, status)
		require.Contains(p, status, "old replicas are pending termination...\n")
		require.True(p, strings.HasSuffix(status, `deployment "web" successfully rolled out`+"\n"), status)
		p.says("rollout history deployment web", "deployment.apps/web \nREVISION   CHANGE-CAUSE\n1          <none>\n2          <none>\n\n")
		require.Contains(p, p.run("rollout history deployment web --revision=1"), "Image:  web:1")
		p.says("rollout undo deployment web", "deployment.apps/web rolled back\n")
		p.run("rollout status deployment web")
		require.Contains(p, p.run("get deploy -o wide"), "web:1")
		p.says("rollout undo deployment web --to-revision=9", "error: unable to find specified revision 9 in history\n")
		p.says("rollout undo deployment web --to-revision=3",
			"deployment.apps/web skipped rollback (current template already matches revision 3)\n")
		p.says("rollout pause deploy web", "deployment.apps/web paused\n")
		p.says("rollout pause deploy web", `error: deployments.apps "web" is already paused`+"\n")
		p.says("rollout undo deploy web", "error: you cannot rollback a paused deployment; resume it first with 'kubectl rollout resume' and try again\n")
		p.says("rollout resume deploy web", "deployment.apps/web resumed\n")
		p.says("rollout resume deploy web", `error: deployments.apps "web" is not paused`+"\n")
		p.says("rollout restart deploy web", "deployment.apps/web restarted\n")
		p.says("set image deploy web web=registry.invalid/web:1", "deployment.apps/web image updated\n")
		require.Contains(p, p.run("rollout status deploy web"), `error: deployment "web" exceeded its progress deadline`)
	})
}

func TestObjectsAreLabeledCordonedAndDeleted(t *testing.T) {
	atPrompt(t, func(p *prompt) {
		p.says("label node node-1 disk=ssd", "node/node-1 labeled\n")
		p.says("label node node-1 disk=ssd", "node/node-1 not labeled\n")
		p.says("label node node-1 disk=hdd", "error: 'disk' already has a value (ssd), and --overwrite is false\n")
		p.says("label node node-1 disk=hdd --overwrite", "node/node-1 labeled\n")
		p.says("label node node-1 disk-", "node/node-1 unlabeled\n")
		p.says("cordon node-1", "node/node-1 cordoned\n")
		p.says("cordon node-1", "node/node-1 already cordoned\n")
		require.Contains(p, p.run("get nodes"), "Ready,SchedulingDisabled")
		p.says("uncordon node-1", "node/node-1 uncordoned\n")
		name := strings.TrimSpace(strings.Split(p.run("get pods -o name"), "\n")[0])
		pod := strings.TrimPrefix(name, "pod/")
		before := time.Now()
		p.says("delete "+name, `pod "`+pod+`" deleted from default namespace`+"\n")
		require.Equal(p, time.Second, time.Since(before), "it waits until the Pod has ended")
		p.says("expose deployment web --port=80", "service/web exposed\n")
		p.pass(5 * time.Second)
		require.Regexp(p, `web    10\.0\.\d\.\d:80,10\.0\.\d\.\d:80,10\.0\.\d\.\d:80   5s\n`, p.run("get endpoints"))
		p.says("delete deploy web --cascade=orphan", `deployment.apps "web" deleted from default namespace`+"\n")
		require.Len(p, strings.Split(p.run("get pods"), "\n"), 5)
		p.says("delete rs --all --cascade=sideways", `error: invalid cascade value (sideways). Must be "background", "foreground", or "orphan"`+"\n")
		require.Regexp(p, `^replicaset.apps "web-\S+" deleted from default namespace\n$`, p.run("delete rs --all --cascade=foreground"))
		p.says("get pods", "No resources found in default namespace.\n")
		p.says("delete pods", "error: resource(s) were provided, but no name was specified\n")
	})
}

func TestApplyCreatesChangesAndLeavesAlone(t *testing.T) {
	atPrompt(t, func(p *prompt) {
		apply := func(text, want string) {
			p.Helper()
			require.Equal(p, want, p.run("apply -f -", text))
		}
		api := strings.ReplaceAll(`apiVersion: apps/v1
kind: Deployment
metadata: {name: api, labels: {team: a}}
spec:
  replicas: 2
  selector: {matchLabels: {app: api}}
  template:
    metadata: {labels: {app: api}}
    spec: {containers: [{name: api, image: "web:1"}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: page}
data: {title: hello}
`, "\t", "  ")
		apply(api, "deployment.apps/api created\nconfigmap/page created\n")
		apply(api, "deployment.apps/api unchanged\nconfigmap/page unchanged\n")
		p.says("scale deploy api --replicas=5", "deployment.apps/api scaled\n")
		apply(strings.ReplaceAll(api, "  replicas: 2\n", ""), "deployment.apps/api configured\nconfigmap/page unchanged\n")
		require.Contains(p, p.run("get deploy api -o yaml"), "replicas: 1\n", "what was applied before, and is not now, is taken back")
		apply("kind: Website\napiVersion: v1\nmetadata: {name: w}\n",
			`error: resource mapping not found for name: "w" namespace: "" from "STDIN": no matches for kind "Website" in version "v1"`+"\n")
		apply("kind: [", "error: error parsing STDIN: error converting YAML to JSON: yaml: line 1: did not find expected node content\n")
		apply("", "error: no objects passed to apply\n")
		require.Contains(p, p.run("apply -f web.yaml"), "error: must specify one of -f and -k")
		require.Contains(p, p.run("apply -f -", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: A_}\n"), `The ConfigMap "A_" is invalid: metadata.name`)
	})
}

func TestDescribeSaysHowThingsAre(t *testing.T) {
	atPrompt(t, func(p *prompt) {
		p.run("set image deploy web web=web:bad")
		p.pass(15 * time.Second)
		text := p.run("describe deployment web")
		for _, want := range []string{
			"Name:                   web\n", "3 desired | 1 updated | 4 total | 3 available | 1 unavailable\n",
			"RollingUpdateStrategy:  25% max unavailable, 25% max surge\n", "    Image:  web:bad\n", "Progressing",
		} {
			require.Contains(p, text, want)
		}
		require.Regexp(p, `NewReplicaSet: +web-\S+ \(1/1 replicas created\)\n`, text)
		require.Contains(p, p.run("describe pods"), "CrashLoopBackOff")
		require.Regexp(p, `web-\S+ +0/1 +(CrashLoopBackOff|Running) +1 \(\d+s ago\)`, p.run("get pods"))
		require.Contains(p, p.run("describe node node-1"), "Unschedulable:          false\n")
		require.Contains(p, p.run("describe rs"), "Controlled By:          Deployment/web\n")
		require.Contains(p, p.run("describe lease -n kube-node-lease"), "holderIdentity: node-1\n")
		p.says("describe deploy nix", `Error from server (NotFound): deployments.apps "nix" not found`+"\n")
	})
}

// People type all sorts of things at a prompt.
func TestNonsenseGetsAnAnswerThatHelps(t *testing.T) {
	atPrompt(t, func(p *prompt) {
		for line, want := range map[string]string{
			"get":                                 "Required resource not specified",
			"get foo":                             `error: the server doesn't have a resource type "foo"`,
			"get pods web":                        `Error from server (NotFound): pods "web" not found`,
			"get pods -o jsonpath={.x}":           "-o jsonpath={.x} isn't supported here",
			"get pods --chunk-size=3":             "error: unknown flag: --chunk-size\nSee 'kubectl get --help' for usage.",
			"get deploy,rs -w":                    "error: you may only specify a single resource type",
			"gte pods":                            `error: unknown command "gte" for "kubectl"`,
			"exec web -- sh":                      "error: kubectl exec isn't supported here: the containers here are only played",
			"patch deploy web":                    "error: kubectl patch isn't supported here",
			"create pod x":                        "kubectl create pod isn't supported here: this prompt has kubectl create deployment, namespace",
			"rollout":                             "kubectl rollout nothing isn't supported here",
			"create deployment":                   "error: exactly one NAME is required, got 0",
			"create deployment x":                 `error: required flag(s) "image" not set`,
			"create deployment web --image=web:1": `error: failed to create deployment: deployments.apps "web" already exists`,
			"create deployment A --image=web:1":   `is invalid: metadata.name: Invalid value: "A"`,
			"scale deploy web":                    "error: The --replicas=COUNT flag is required",
			"scale pod web --replicas=1":          "error: cannot scale pods",
			"set image deploy web x=web:1":        `error: unable to find container named "x"`,
			"set image deploy web":                "error: at least one image update is required",
			"set env deploy web A=b":              "kubectl set env isn't supported here: this prompt has kubectl set image",
			"delete deploy nix":                   `Error from server (NotFound): deployments.apps "nix" not found`,
			"rollout status deploy nix":           `Error from server (NotFound): deployments.apps "nix" not found`,
			"rollout status pod web":              "error: rollouts of pods aren't supported here, only those of deployments",
			"cordon":                              "error: USAGE: cordon NODE [flags]",
			"cordon nix":                          `Error from server (NotFound): nodes "nix" not found`,
			"label pod":                           "error: at least one label update is required",
			"get pod/web/x rs":                    "there is no need to specify a resource type as a separate argument",
			`get "pods`:                           "a quote or a backslash has no end",
			"-n default get pods":                 "write flags after the command",
			"rm -rf /":                            `error: unknown command "rm" for "kubectl"`,
			"":                                    "kubectl, as far as it makes sense in a page",
			"help":                                "rollout undo",
			"get --help":                          "--all-namespaces",
		} {
			require.Contains(p, p.run(line), want, line)
		}
	})
}

// A tab, as in a shell.
func TestTheLastWordIsCompleted(t *testing.T) {
	atPrompt(t, func(p *prompt) {
		for line, want := range map[string][]string{
			"sc":                       {"scale"},
			"kubectl ro":               {"rollout"},
			"rollout s":                {"status"},
			"rollout ":                 {"history", "pause", "restart", "resume", "status", "undo"},
			"scale ":                   {"deployments", "replicasets", "statefulsets"},
			"get no":                   {"nodes"},
			"get deploy ":              {"web"},
			"get deploy/":              {"deploy/web"},
			"cordon node-":             {"node-1", "node-2", "node-3"},
			"scale deploy web --re":    {"--replicas="},
			"get pods -n default --no": {"--no-headers"},
			"fly ":                     nil,
			"get nix ":                 nil,
		} {
			require.Equal(p, want, p.world.Kubectl.Complete(p.ctx, line), line)
		}
	})
}
