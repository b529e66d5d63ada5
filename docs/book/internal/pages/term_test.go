package pages

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const words = `
-- docs/glossary.md --
# Glossary

- **410 Gone**: The history is over. ([chapter 1](../chapters/01-list/README.md))
- **alarm** (*ours*): A moment.
- no term: Only an item.
-- docs/text.md --
# T

- **bold**: In another text, bold is only bold. [a](glossary.md#term-410-gone)
`

// VitePress's search takes a heading with a link to itself for a section, and what follows it for the section's text.
func TestEachTermOfTheGlossaryCanBeFoundByItself(t *testing.T) {
	s, err := openCourse(t, words)
	require.NoError(t, err)
	out, found := s.text(s.pages[glossary])
	require.Empty(t, found)
	for _, want := range []string{
		`<li><h4 class="term" id="term-410-gone" tabindex="-1">410 Gone<a class="header-anchor" href="#term-410-gone" aria-label="Permalink to &quot;410 Gone&quot;">&#8203;</a></h4>` +
			`: <span class="meaning">The history is over. (<a href="../chapters/01-list/index.html">chapter 1</a>)</span></li>`,
		`<h4 class="term" id="term-alarm" tabindex="-1">alarm<a class="header-anchor" href="#term-alarm" aria-label="Permalink to &quot;alarm&quot;">&#8203;</a></h4>` +
			` <span class="meaning"> (<em>ours</em>): A moment.</span></li>`,
		"<li>no term: Only an item.</li>",
	} {
		assert.Contains(t, out, want)
	}
}

func TestBoldWordsOfOtherTextsAreNoTerms(t *testing.T) {
	s, err := openCourse(t, words)
	require.NoError(t, err)
	out, found := s.text(s.pages["docs/text.md"])
	require.Empty(t, found, "a text can lead to a term")
	assert.Contains(t, out, `<li><strong>bold</strong>: In another text, bold is only bold. <a href="glossary.html#term-410-gone">a</a></li>`)
}
