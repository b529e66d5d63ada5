// Draws the diagrams of the pages and the slides, so that a page shows them without a script:
//
//   node draw.mjs pages public
//
// A page has the text of a diagram in a `.diagram`; what's here puts the picture in its place. Its colors are variables of
// the style sheets, so one picture serves light and dark.
import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { renderMermaidSVG } from 'beautiful-mermaid'

const diagram = /<div class="diagram"><pre class="diagram-source"><code>([^]*?)<\/code><\/pre><\/div>/g

for (const directory of process.argv.slice(2)) {
  for (const name of readdirSync(directory, { recursive: true }).filter(name => /\.(md|html)$/.test(name))) {
    const file = join(directory, name)
    const page = readFileSync(file, 'utf8')
    let n = 0
    const drawn = page.replace(diagram, (_, source) => {
      try {
        return `<div class="diagram"><div class="diagram-picture">${picture(unescaped(source), `d${++n}-`)}</div></div>`
      } catch (problem) {
        throw new Error(`${file}: diagram ${n}: ${problem.message}\n${unescaped(source)}`)
      }
    })
    if (n > 0) writeFileSync(file, drawn)
  }
}

// picture is an SVG that can be part of a page: its style sheet, which would be the whole page's, becomes its own, its
// names begin with a prefix, and it has no empty line, which would end it in Markdown.
function picture(source, prefix) {
  const svg = renderMermaidSVG(source, {
    bg: 'var(--diagram-bg)', fg: 'var(--diagram-text)', line: 'var(--diagram-line)', accent: 'var(--diagram-line)',
    muted: 'var(--diagram-text)', surface: 'var(--diagram-box)', border: 'var(--diagram-border)', padding: 8, transparent: true
  })
  const [, width] = svg.match(/ width="([\d.]+)"/)
  const own = [...svg.matchAll(/^\s*(--_[\w-]+:[^;]*);/gm)].map(([, variable]) => variable.replace(/\s+/g, ' ')).join('; ')
  return svg
    .replace(/<style>[^]*?<\/style>/, '')
    .replace(/ width="[\d.]+" height="[\d.]+" style="([^"]*)"/, (_, style) =>
      ` role="img" aria-label="${words(svg)}" style="${style}; ${own}; --width: ${Math.ceil(width)}px"`)
    .replace(/ id="/g, ` id="${prefix}`).replace(/url\(#/g, `url(#${prefix}`)
    .split('\n').map(line => line.trim()).filter(Boolean).join('\n')
}

// words are what stands in a picture, for those who can't see it.
function words(svg) {
  return [...svg.matchAll(/data-label="([^"]*)"/g)].map(([, label]) => label).filter(Boolean).filter((label, i, all) => all.indexOf(label) === i).join(', ')
}

function unescaped(text) {
  return text.replace(/&(lt|gt|quot|#34|#39|amp);/g, (_, name) => ({ lt: '<', gt: '>', quot: '"', '#34': '"', '#39': "'", amp: '&' })[name])
}
