// The site around the pages: menu, search, looks. The pages and the menu are made
// by `go run ./cmd/book pages`, from the texts of the repository.
import { copyFileSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { defineConfig, type HeadConfig } from 'vitepress'

const here = (path: string) => fileURLToPath(new URL('../' + path, import.meta.url))
const base = process.env.BOOK_BASE || '/'
const menu = JSON.parse(readFileSync(here('pages/menu.json'), 'utf8'))
const repository = 'https://github.com/loopwright/loopwright'
const published = process.env.BOOK_PUBLISHED ?? '' // internal/build knows where

// Scripts that pages load when they need them, as classic scripts: a module cannot be loaded from a folder.
copyFileSync(here('node_modules/minisearch/dist/umd/index.js'), here('public/book/minisearch.js'))
copyFileSync(here('node_modules/reveal.js/dist/reveal.js'), here('public/book/reveal.js'))
copyFileSync(here('node_modules/reveal.js/dist/reveal.css'), here('public/book/reveal.css'))
copyFileSync(here('node_modules/reveal.js/dist/plugin/notes.js'), here('public/book/reveal-notes.js'))

export default defineConfig({
  title: 'Loopwright',
  description: "Kubernetes' controller machinery, rebuilt from scratch in Go",
  lang: 'en',
  base,
  srcDir: 'pages',
  outDir: process.env.BOOK_OUT || '../../.loopwright/book',
  cleanUrls: true,
  head: [
    ['link', { rel: 'icon', type: 'image/svg+xml', href: base + 'book/icon.svg' }],
    ['link', { rel: 'stylesheet', href: base + 'book/code.css' }],
    ['script', { defer: '', src: base + 'book/book.js' }]
  ],
  // What a link to a page looks like where it's shared.
  transformHead({ pageData, siteConfig }) {
    const title = pageData.frontmatter.layout === 'home' ? siteConfig.site.title : pageData.title + ' | ' + siteConfig.site.title
    const card = { title, description: pageData.description, type: 'article', site_name: 'Loopwright', image: published + '/book/card.png',
      url: published + '/' + pageData.relativePath.replace(/(index)?\.md$/, '') }
    return [...Object.entries(card).map(([name, content]) => ['meta', { property: 'og:' + name, content }] as HeadConfig),
      ['meta', { name: 'twitter:card', content: 'summary_large_image' }]]
  },
  // The generator has checked the links, and pictures are where they are: Vite has nothing to do with them.
  ignoreDeadLinks: true,
  // A result of the search shows a part of another page, with its pictures: their addresses must not depend on the page.
  // From a folder they must; what makes it one writes them anew.
  markdown: {
    config(md) {
      const block = md.renderer.rules.html_block
      md.renderer.rules.html_block = (tokens, at, options, env, self) =>
        block(tokens, at, options, env, self).replace(/<img src="(?![a-z]+:|\/)([^"]+)"/g, (_, source) =>
          '<img src="' + base + posix.join(posix.dirname(env.relativePath), source) + '"')
    }
  },
  vue: { template: { transformAssetUrls: false } },
  vite: { publicDir: here('public'), build: { chunkSizeWarningLimit: 4000 } },
  themeConfig: {
    nav: [
      { text: 'Chapters', link: '/#the-chapters', activeMatch: '^/(chapters|exercises)/' },
      { text: 'Playground', link: '/docs/playground' },
      { text: 'Glossary', link: '/docs/glossary' },
      { text: 'EPUB', link: base + 'loopwright.epub', target: '_self' } // VitePress adds the base to pages only
    ],
    sidebar: menu,
    outline: { level: [2, 3], label: 'On this page' },
    search: {
      provider: 'local',
      options: {
        detailedView: true,
        // Tags are taken out of what is searched, and words that only a tag separates would be one word then. A
        // diagram's words stand in the text, too.
        _render: (source, env, md) => md.render(source, env).replace(/<svg[^]*?<\/svg>/g, '')
          .replace(/<(?=(?:p|li|td|th|h\d|pre|div|summary|dt|dd|br)\b|span>)/g, ' <'),
        miniSearch: {
          // What a folder shows of a result. VitePress loads the page instead.
          options: {
            storeFields: ['title', 'titles', 'start'],
            extractField: (document, field) => (field === 'start' ? document.text.replace(/\s+/g, ' ').trim().slice(0, 180) : document[field])
          },
          // book/folder.js takes these from here, too. Each function is sent as text: it can use nothing around it.
          searchOptions: {
            // In a short word or a number, one other character makes another word.
            fuzzy: (term) => (term.length < 5 || /\d/.test(term) ? false : 0.2),
            prefix: true,
            boost: { title: 8, titles: 2, text: 1 },
            boostDocument: (id) => {
              const page = id.replace(/#.*/, '')
              if (/\/docs\/glossary$/.test(page)) return 2
              if (/\/(api|benchmarks|client-calls|measuring|originals|CONTRIBUTING|CHANGELOG|SECURITY)$/.test(page)) return 0.1
              return /\/(chapters|exercises|docs)\//.test(page) ? 1 : 0.5
            }
          }
        }
      }
    },
    socialLinks: [{ icon: 'github', link: repository }],
    editLink: {
      pattern: ({ frontmatter }) => 'https://github.com/loopwright/loopwright/edit/main/' + frontmatter.source,
      text: 'Edit this page on GitHub'
    },
    docFooter: { prev: 'Back', next: 'Next' },
    externalLinkIcon: false
  }
})
