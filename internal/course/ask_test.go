package course

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	question    = regexp.MustCompile(`(?s)\*\*Predict:\*\*(.*?)<details>\s*<summary>([^\n]*)`)
	endOfPhrase = regexp.MustCompile(`[.?] `)
	markup      = strings.NewReplacer("*", "", "`", "")
)

// A reader of the text and one of the program must be asked the same. A program that asks its reader
// asks what the text asks before running it, and only before a step that there is.
func TestAProgramAsksWhatItsTextAsks(t *testing.T) {
	r, err := Open("../..")
	require.NoError(t, err)
	chapters, err := r.written()
	require.NoError(t, err)
	for _, c := range chapters {
		questions := question.FindAllStringSubmatch(read(t, r, c.Readme()), -1)
		require.NotEmpty(t, questions, c.Readme())
		for _, dir := range []string{c.Dir, path.Join(c.Dir, "naive")} {
			asked, output := predictions(t, r, path.Join(dir, "main.go")), read(t, r, path.Join(dir, "testdata/output.txt"))
			for phrase, step := range asked {
				assert.Contains(t, output, "\n"+step+". ", "%s asks %q before no step", dir, phrase)
				assert.True(t, slices.ContainsFunc(questions, func(q []string) bool { return strings.Contains(plain(q[1]), phrase) }),
					"%s asks what the text does not ask: %s", dir, phrase)
			}
			for _, q := range questions {
				naive, inText := strings.Contains(q[2], "NAIVE=1"), strings.Contains(q[2], "make chapter-")
				if len(asked) > 0 && inText && naive == strings.HasSuffix(dir, "naive") {
					assert.True(t, slices.ContainsFunc(sortedKeys(asked), func(phrase string) bool { return strings.Contains(plain(q[1]), phrase) }),
						"%s does not ask what the text asks: %s", dir, q[1])
				}
			}
		}
	}
}

// predictions are the phrases in the calls of demo.Predict of a file, and before which step they are asked.
func predictions(t *testing.T, r *Repo, file string) map[string]string {
	f, err := parser.ParseFile(token.NewFileSet(), r.Abs(file), nil, 0)
	require.NoError(t, err)
	all := map[string]string{}
	ast.Inspect(f, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if f, ok := call.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "Predict" {
				for _, phrase := range endOfPhrase.Split(plain(literal(call.Args[1])), -1) {
					all[strings.Trim(phrase, "?")] = literal(call.Args[0])
				}
			}
		}
		return true
	})
	return all
}

// literal is the value of a number, or of a string that may be broken into several.
func literal(e ast.Expr) string {
	if sum, ok := e.(*ast.BinaryExpr); ok {
		return literal(sum.X) + literal(sum.Y)
	}
	value := e.(*ast.BasicLit).Value
	if text, err := strconv.Unquote(value); err == nil {
		return text
	}
	return value
}

// plain is text on one line, without markup, in lower case.
func plain(text string) string {
	return strings.ToLower(strings.Join(strings.Fields(markup.Replace(text)), " "))
}
