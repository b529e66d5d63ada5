package pages

import (
	"fmt"
	"html"
	"os"
	"path"
	"strings"
	"sync"

	"github.com/alecthomas/chroma/v2"
	"github.com/alecthomas/chroma/v2/lexers"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/util"
)

// diagramLanguage is drawn by draw.mjs, which finds its source in the page.
const diagramLanguage = "mermaid"

// code writes a fenced block: a diagram, what a program printed, or code, with a
// bar that says from which file it is.
func (r *rendering) code(w util.BufWriter, node ast.Node, entering bool) ast.WalkStatus {
	if !entering {
		return ast.WalkContinue
	}
	block := node.(*ast.FencedCodeBlock)
	language := string(block.Language(r.page.body))
	var text strings.Builder
	for i := range block.Lines().Len() {
		segment := block.Lines().At(i)
		text.Write(segment.Value(r.page.body))
	}
	source := text.String()
	if language == diagramLanguage {
		fmt.Fprintf(w, "<div class=\"diagram\"><pre class=\"diagram-source\"><code>%s</code></pre></div>\n", html.EscapeString(source))
		return ast.WalkSkipChildren
	}
	bar, classes, id := "", "", ""
	if snippet, ok := marked(node, snippetMarker); ok {
		source, bar, id = r.snippet(node, snippet, source)
	}
	if _, ok := marked(node, outputMarker); ok {
		classes, bar = " printed", `<div class="code-bar">Output</div>`
	}
	lines, err := highlight(language, source)
	if err != nil {
		r.problem(node, err)
	}
	_, _ = w.WriteString(codeBlock(language, classes, id, bar, lines))
	return ast.WalkSkipChildren
}

// codeBlock is a block as VitePress writes one: its script for copying looks for that.
func codeBlock(language, classes, id, bar string, lines []string) string {
	name := language
	if language == "" || language == "text" {
		language, name = "text", ""
	}
	if id != "" {
		id = fmt.Sprintf(` id="%s"`, html.EscapeString(id))
	}
	return fmt.Sprintf(`<div class="language-%s%s"%s>%s<button title="Copy" class="copy"></button><span class="lang">%s</span>`+
		`<pre class="chroma" tabindex="0"><code>%s</code></pre></div>`+"\n", html.EscapeString(language), classes, id, bar, html.EscapeString(name), strings.Join(lines, "\n"))
}

// snippet takes the line that names the file out of a block, because the bar above
// it does so, and leads to the lines in the file. They lead back to the block's id.
func (r *rendering) snippet(node ast.Node, args map[string]string, source string) (code, bar, id string) {
	file := args["file"]
	code = strings.TrimPrefix(source, "// "+file+"\n\n")
	if args["title"] == "false" {
		return code, "", ""
	}
	text, err := os.ReadFile(r.site.repo.Abs(file))
	if err != nil {
		r.problem(node, err)
		return code, "", ""
	}
	lines, found := linesOf(string(text), code, args["body"] != "false")
	if !found {
		r.problem(node, fmt.Errorf("%s does not have this code: run `make sync`", file))
		return code, "", ""
	}
	r.snippets++
	id = fmt.Sprintf("snippet-%d", r.snippets)
	r.site.sources[file] = true
	r.site.ranges.add(file, lines, quote{r.page, id})
	href := relative(r.page.out, sourcePage(file)) + "#" + lines.id()
	return code, fmt.Sprintf(`<div class="code-bar"><a href="%s" target="_self">%s</a></div>`, html.EscapeString(href), html.EscapeString(file)), id
}

// linesOf finds code in a file. What course
// sync changed does not count: indentation, the lines that mark regions, and a body that was left out.
func linesOf(file, code string, body bool) (lineRange, bool) {
	var lines []string
	var numbers []int
	for i, line := range strings.Split(file, "\n") {
		line = strings.TrimSpace(line)
		mark := strings.TrimSpace(strings.TrimLeft(line, "/#"))
		if strings.HasPrefix(mark, "region ") || strings.HasPrefix(mark, "endregion ") {
			continue
		}
		lines, numbers = append(lines, line), append(numbers, i+1)
	}
	var wanted []string
	for line := range strings.Lines(code) {
		wanted = append(wanted, strings.TrimSpace(line))
	}
	for at := 0; at+len(wanted) <= len(lines); at++ {
		same := 0
		for same < len(wanted) {
			line := lines[at+same]
			if !body && same == len(wanted)-1 {
				line, _, _ = strings.Cut(line, " {")
			}
			if line != wanted[same] {
				break
			}
			same++
		}
		if same == len(wanted) {
			return lineRange{numbers[at], numbers[at+len(wanted)-1]}, true
		}
	}
	return lineRange{}, false
}

// highlight marks the words of a program with classes, line by line; the style
// sheets have the colors. A word that looks like all others gets no mark: marks are
// most of the size of a page of code.
func highlight(language, source string) ([]string, error) {
	tokens, err := chroma.Coalesce(lexerFor(language)).Tokenise(nil, strings.TrimRight(source, "\n"))
	if err != nil {
		return nil, fmt.Errorf("highlighting %s: %w", language, err)
	}
	var lines []string
	for _, words := range chroma.SplitTokensIntoLines(tokens.Tokens()) {
		var line strings.Builder
		for _, word := range words {
			text := html.EscapeString(strings.TrimRight(word.Value, "\n"))
			if class := classOf(word.Type); colored()[class] && text != "" {
				text = fmt.Sprintf(`<span class="%s">%s</span>`, class, text)
			}
			line.WriteString(text)
		}
		lines = append(lines, line.String())
	}
	return lines, nil
}

// classOf is the class of a kind of word, or of the more general kind.
func classOf(kind chroma.TokenType) string {
	for ; kind != 0; kind = kind.Parent() {
		if class, ok := chroma.StandardTypes[kind]; ok {
			return class
		}
	}
	return ""
}

// colored are the classes to which the style sheet for light gives a color of their own.
var colored = sync.OnceValue(func() map[string]bool {
	classes := map[string]bool{}
	for kind, class := range chroma.StandardTypes {
		color := lightStyle.Get(kind).Colour
		if kind > 0 && kind != chroma.TextWhitespace && color != lightStyle.Get(chroma.NameOther).Colour && color != lightStyle.Get(chroma.NameNamespace).Colour {
			classes[class] = true
		}
	}
	return classes
})

// lexerFor knows the languages of the texts; the name of a file will do, too.
func lexerFor(language string) chroma.Lexer {
	named := map[string]string{"sh": "bash", "proto": "protobuf", "md": "markdown", "mod": "gomod"}
	if name, ok := named[language]; ok {
		language = name
	}
	if language == "" || language == "text" {
		return lexers.Fallback
	}
	if lexer := lexers.Get(language); lexer != nil {
		return lexer
	}
	if lexer := lexers.Match(path.Base(language)); lexer != nil {
		return lexer
	}
	return lexers.Fallback
}
