package kubectl

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Complete returns what the last word of a line can become, in order. It asks the API server for
// the names of objects. A line that ends with a space has an empty last word.
func (k *Kubectl) Complete(ctx context.Context, line string) []string {
	words := strings.Fields(line)
	if len(words) > 0 && words[0] == "kubectl" {
		words = words[1:]
	}
	last := ""
	if len(words) > 0 && !strings.HasSuffix(line, " ") {
		words, last = words[:len(words)-1], words[len(words)-1]
	}
	var all []string
	for _, word := range k.candidates(ctx, words, last) {
		if strings.HasPrefix(word, last) && !slices.Contains(all, word) {
			all = append(all, word)
		}
	}
	slices.Sort(all)
	return all
}

// candidates are all words that may stand after others.
func (k *Kubectl) candidates(ctx context.Context, before []string, last string) (all []string) {
	var command *command
	rest, err := before, error(nil)
	if len(before) > 0 {
		command, rest, err = find(before)
	}
	if command == nil || err != nil {
		for _, c := range commands {
			words := strings.Fields(c.name)
			if len(before) < len(words) && slices.Equal(before, words[:len(before)]) {
				all = append(all, words[len(before)])
			}
		}
		return all
	}
	c := &call{client: k.client, command: command}
	flags := c.options.flags(command)
	if strings.HasPrefix(last, "-") {
		flags.VisitAll(func(f *pflag.Flag) {
			name := "--" + f.Name
			if f.NoOptDefVal == "" {
				name += "="
			}
			all = append(all, name)
		})
		return all
	}
	_ = flags.Parse(rest) // a flag without its value yet does no harm
	args := flags.Args()
	if kind, _, found := strings.Cut(last, "/"); found {
		for _, name := range c.names(ctx, kind) {
			all = append(all, kind+"/"+name)
		}
		return all
	}
	switch {
	case command.name == "cordon" || command.name == "uncordon":
		return c.names(ctx, "nodes")
	case len(args) == 0:
		return kindWords(command)
	case !strings.Contains(args[0], "/"):
		return c.names(ctx, args[0])
	}
	return nil
}

// kindWords are the kinds that make sense for a command.
func kindWords(c *command) (all []string) {
	if c.objects != nil {
		return c.objects
	}
	for _, k := range kinds {
		all = append(all, k.plural)
	}
	if c.name == "get" {
		all = append(all, "all")
	}
	return all
}

// names of the objects of a kind; none if it isn't one.
func (c *call) names(ctx context.Context, word string) (all []string) {
	k, err := kindCalled(word)
	if err != nil {
		return nil
	}
	list, err := c.on(k).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil
	}
	for _, obj := range list.Items {
		all = append(all, obj.GetName())
	}
	return all
}
