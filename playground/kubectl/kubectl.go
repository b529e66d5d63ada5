package kubectl

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/google/shlex"
	"github.com/spf13/pflag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// Kubectl runs lines. It may be used from several goroutines.
type Kubectl struct {
	client dynamic.Interface
}

// New returns a prompt for the API server that config names. It sends no request yet.
func New(config *rest.Config) (*Kubectl, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client for kubectl: %w", err)
	}
	return &Kubectl{client: client}, nil
}

// Run runs one line, with or without "kubectl" at its beginning. input is what - stands for in
// apply -f -. A line that watches or waits runs until ctx ends, which is no error.
//
// Errors: the text is what kubectl writes to its standard error.
func (k *Kubectl) Run(ctx context.Context, line, input string, out io.Writer) error {
	words, err := shlex.Split(line)
	if err != nil {
		return fmt.Errorf("error: %w: a quote or a backslash has no end", err)
	}
	if len(words) > 0 && words[0] == "kubectl" {
		words = words[1:]
	}
	if len(words) == 0 || slices.Contains([]string{"help", "--help", "-h"}, words[0]) {
		_, err := io.WriteString(out, help())
		return err
	}
	command, words, err := find(words)
	if err != nil {
		return err
	}
	c := &call{client: k.client, command: command, input: input, out: out}
	flags := c.options.flags(command)
	switch err := flags.Parse(words); {
	case errors.Is(err, pflag.ErrHelp):
		_, err := fmt.Fprintf(
			out,
			"Usage:\n  kubectl %s %s\n\nFlags:\n%s",
			command.name,
			command.usage,
			flags.FlagUsages(),
		)
		return err
	case err != nil:
		return fmt.Errorf("error: %w\nSee 'kubectl %s --help' for usage.", err, command.name)
	}
	c.args = flags.Args()
	if err := command.run(ctx, c); err != nil && ctx.Err() == nil {
		return said(err)
	}
	return nil
}

// call is one line that is being run.
type call struct {
	options
	client  dynamic.Interface
	command *command
	args    []string // without flags
	input   string
	out     io.Writer
}

func (c *call) say(format string, values ...any) error {
	_, err := fmt.Fprintf(c.out, format+"\n", values...)
	return err
}

// on returns the client for objects of a kind, in the namespace of this line.
func (c *call) on(k *kind) dynamic.ResourceInterface {
	switch {
	case k.cluster:
		return c.client.Resource(k.resource())
	case c.allNamespaces:
		return c.client.Resource(k.resource()).Namespace("")
	}
	return c.client.Resource(k.resource()).Namespace(c.namespace)
}

// stderr is an error whose text is complete.
type stderr struct{ error }

func (e stderr) Unwrap() error { return e.error }

// said puts before an error what kubectl puts there.
func said(err error) error {
	var complete stderr
	var status apierrors.APIStatus
	switch {
	case errors.As(err, &complete):
		return err
	case errors.As(err, &status):
		reason := ""
		if r := status.Status().Reason; r != metav1.StatusReasonUnknown {
			reason = fmt.Sprintf(" (%s)", r)
		}
		if apierrors.IsInvalid(err) { // kubectl leaves out where it comes from
			return stderr{fmt.Errorf("The %w", err)}
		}
		return stderr{fmt.Errorf("Error from server%s: %w", reason, err)}
	}
	return stderr{fmt.Errorf("error: %w", err)}
}

// command is a verb, or two words like "rollout undo".
type command struct {
	name, usage string
	flags       []string // names in flagsByName
	run         func(context.Context, *call) error
	objects     []string // kinds that make sense here, for completion; nil is all
}

// commands is filled by init, because help and completion, which a command may call, read it.
var commands []*command

func init() {
	const objects = "(TYPE NAME | TYPE/NAME)"
	changes := []string{"deployments", "replicasets", "statefulsets"}
	rollouts := []string{"deployments"}
	one := []string{"namespace"}
	many := []string{"namespace", "selector", "all"}
	commands = []*command{
		{
			"get",
			"(TYPE [NAME | -l label] | TYPE/NAME ...)",
			[]string{"namespace", "all-namespaces", "output", "selector",
				"watch", "watch-only", "no-headers", "show-labels"},
			get,
			nil,
		},
		{
			"describe",
			"(TYPE [NAME | -l label] | TYPE/NAME)",
			[]string{"namespace", "selector"},
			describe,
			nil,
		},
		{
			"create deployment",
			"NAME --image=image [--replicas=1] [--port=80]",
			[]string{"namespace", "image", "replicas", "port"},
			createDeployment,
			[]string{},
		},
		{"create namespace", "NAME", nil, createNamespace, []string{}},
		{
			"expose",
			"deployment NAME --port=80",
			[]string{"namespace", "port", "name"},
			expose,
			rollouts,
		},
		{"scale", objects + " --replicas=COUNT", []string{"namespace", "replicas"}, scale, changes},
		{
			"set image",
			objects + " CONTAINER=IMAGE",
			one,
			setImage,
			append(changes, "daemonsets", "pods"),
		},
		{"rollout status", objects, append(one, "watch-rollout"), rolloutStatus, rollouts},
		{"rollout history", objects, append(one, "revision"), rolloutHistory, rollouts},
		{"rollout undo", objects, append(one, "to-revision"), rolloutUndo, rollouts},
		{"rollout pause", objects, one, rolloutPause, rollouts},
		{"rollout resume", objects, one, rolloutResume, rollouts},
		{"rollout restart", objects, one, rolloutRestart, rollouts},
		{"label", objects + " KEY=VALUE ... KEY-", append(many, "overwrite"), label, nil},
		{"cordon", "NODE", nil, cordon, []string{"nodes"}},
		{"uncordon", "NODE", nil, uncordon, []string{"nodes"}},
		{"delete", "(TYPE [NAME | -l label | --all] | TYPE/NAME)",
			append(many, "cascade", "grace-period", "force", "now", "wait"), deleteObjects, nil},
		{"apply", "-f - [--namespace]", []string{"namespace", "filename"}, apply, []string{}},
		{"api-resources", "", nil, apiResources, []string{}},
	}
}

// elsewhere are verbs that kubectl has and this prompt doesn't, with the reason.
var elsewhere = map[string]string{
	"logs": "the containers here are only played", "exec": "the containers here are only played",
	"attach": "the containers here are only played", "cp": "the containers here are only played",
	"debug": "the containers here are only played", "top": "the containers here are only played",
	"port-forward": "nothing listens in a Pod that is only played",
	"proxy":        "nothing listens in this page", "edit": "there is no editor: use apply -f -",
	"drain": "cordon the node, and delete its Pods", "run": "use create deployment",
}

var others = []string{
	"annotate", "api-versions", "auth", "autoscale", "certificate", "cluster-info", "completion", "config", "diff", "events",
	"explain", "kustomize", "options", "patch", "plugin", "replace", "taint", "version", "wait",
}

// find returns the command at the beginning of the words, and the words after it.
func find(words []string) (*command, []string, error) {
	flagsFirst := slices.IndexFunc(words, func(w string) bool { return !strings.HasPrefix(w, "-") })
	if flagsFirst > 0 {
		return nil, nil, fmt.Errorf(
			"error: write flags after the command: kubectl %s ... %s",
			words[flagsFirst],
			words[0],
		)
	}
	verb := words[0]
	var second []string
	for _, c := range commands {
		first, rest, two := strings.Cut(c.name, " ")
		switch {
		case first != verb:
		case !two:
			return c, words[1:], nil
		case len(words) > 1 && (words[1] == rest || slices.Contains(kindNames(words[1]), rest)):
			return c, words[2:], nil
		default:
			second = append(second, rest)
		}
	}
	if len(second) > 0 {
		given := cmp.Or(strings.Join(words[1:min(2, len(words))], ""), "nothing")
		return nil, nil, fmt.Errorf(
			"error: kubectl %s %s isn't supported here: this prompt has kubectl %s %s",
			verb,
			given,
			verb,
			strings.Join(second, ", "),
		)
	}
	if why, ok := elsewhere[verb]; ok {
		return nil, nil, fmt.Errorf("error: kubectl %s isn't supported here: %s", verb, why)
	}
	if slices.Contains(others, verb) {
		return nil, nil, fmt.Errorf(
			"error: kubectl %s isn't supported here; kubectl help lists what is",
			verb,
		)
	}
	return nil, nil, fmt.Errorf("error: unknown command %q for \"kubectl\"%s", verb, meant(verb))
}

// meant suggests a command whose beginning is the same.
func meant(verb string) string {
	for _, c := range commands {
		first, _, _ := strings.Cut(c.name, " ")
		if strings.HasPrefix(first, verb[:min(2, len(verb))]) {
			return "\n\nDid you mean this?\n\t" + first
		}
	}
	return ""
}

func help() string {
	var text strings.Builder
	text.WriteString("kubectl, as far as it makes sense in a page:\n\n")
	for _, c := range commands {
		fmt.Fprintf(&text, "  %s\n", strings.TrimSpace(c.name+" "+c.usage))
	}
	text.WriteString("\nkubectl COMMAND --help lists its flags.\n")
	return text.String()
}
