package course

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Each case breaks one rule of the book's pages on purpose. A page that lacks a line is a program
// that a reader cannot write.
func TestAPageThatBreaksARuleIsReported(t *testing.T) {
	t.Parallel()
	const dir = "mini/book/01-sum"
	good := map[string]string{
		"mini/sum.go": "package mini\n\nimport \"fmt\"\n\n// Sum adds.\nfunc Sum(a, b int) int { return a + b }\n\n" +
			"func show() { fmt.Println(Sum(1, 2)) }\n",
		dir + "/chapter.yaml": "title: Sum\npart: 1\nminutes: 5\nfile: mini/sum.go\nnames: [sum]\n",
		dir + "/README.md": "# 1. Sum\n\nA **sum** is what adding gives.\n\n" +
			marked("imports") + marked("Sum") + marked("show"),
	}
	for name, c := range map[string]struct {
		file, old, replaced string
		want                string
	}{
		"nothing":         {},
		"a line missing":  {dir + "/README.md", marked("show"), "", "does not print mini/sum.go:8: func show()"},
		"a line twice":    {dir + "/README.md", marked("show"), marked("show") + marked("show"), "prints mini/sum.go:8 2 times"},
		"no such symbol":  {dir + "/README.md", marked("show"), marked("shw"), "mini/sum.go declares no shw"},
		"another title":   {dir + "/chapter.yaml", "title: Sum", "title: Sums", `does not begin with "# 1. Sums"`},
		"too long":        {dir + "/README.md", "A **sum**", strings.Repeat("word ", 3000) + "sum", "has 3008 words"},
		"too many names":  {dir + "/chapter.yaml", "[sum]", "[sum,sum,sum,sum,sum,sum,sum,sum,sum,sum,sum,sum,sum]", "has 13 new names"},
		"a name not said": {dir + "/chapter.yaml", "[sum]", "[sum, product]", `does not explain "product"`},
		"too many hours":  {dir + "/chapter.yaml", "minutes: 5", "minutes: 91", "want 1 to 90 minutes, got 91"},
		"no such file":    {dir + "/chapter.yaml", "mini/sum.go", "mini/no.go", "its file: open"},
		"an unknown key":  {dir + "/chapter.yaml", "names:", "nmes:", `unknown field "nmes"`},
		"a wide line":     {dir + "/README.md", "A **sum**", "```go\n\t// " + strings.Repeat("x", 84) + "\n```\nA **sum**", "91 columns"},
		"a wide output":   {dir + "/README.md", "A **sum**", "```text\n" + strings.Repeat("x", 91) + "\n```\nA **sum**", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{}
			for file, text := range good {
				if file == c.file {
					require.Contains(t, text, c.old)
					text = strings.Replace(text, c.old, c.replaced, 1)
				}
				files[file] = text
			}
			problems, err := tinyTree(t, files).checkPages()
			require.NoError(t, err)
			if c.want == "" {
				assert.Empty(t, problems)
				return
			}
			require.Len(t, problems, 1)
			assert.Contains(t, problems[0], c.want)
		})
	}
}

func marked(symbol string) string {
	return "<!-- snippet file=mini/sum.go symbol=" + symbol + " -->\n```go\n```\n\n"
}
