// The site around the pages: menu, search, looks. The pages and the menu are made
// by `go run ./cmd/book pages`, from the texts of the repository.
import { copyFileSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitepress'

const here = (path: string) => fileURLToPath(new URL('../' + path, import.meta.url))
const base = process.env.BOOK_BASE || '/'
const menu = JSON.parse(readFileSync(here('pages/menu.json'), 'utf8'))
const repository = 'https://github.com/loopwright/loopwright'

// Scripts that pages load when they need them, as classic scripts: a module cannot be loaded from a folder.
copyFileSync(here('node_modules/mermaid/dist/mermaid.min.js'), here('public/book/mermaid.js'))
copyFileSync(here('node_modules/minisearch/dist/umd/index.js'), here('public/book/minisearch.js'))

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
  // The generator has checked the links, and pictures are where they are: Vite has nothing to do with them.
  ignoreDeadLinks: true,
  vue: { template: { transformAssetUrls: false } },
  vite: { publicDir: here('public'), build: { chunkSizeWarningLimit: 4000 } },
  themeConfig: {
    nav: [
      { text: 'Chapters', link: menu[0].items[0].link, activeMatch: '^/chapters/' },
      { text: 'Exercises', link: menu[0].items[0].items[0].link, activeMatch: '^/exercises/' },
      { text: 'Reference', link: menu.at(-2).items[0].link, activeMatch: '^/docs/' }
    ],
    sidebar: menu,
    outline: { level: [2, 3], label: 'On this page' },
    search: { provider: 'local' },
    socialLinks: [{ icon: 'github', link: repository }],
    editLink: {
      pattern: ({ frontmatter }) => 'https://github.com/loopwright/loopwright/edit/main/' + frontmatter.source,
      text: 'Edit this page on GitHub'
    },
    docFooter: { prev: 'Back', next: 'Next' },
    externalLinkIcon: false
  }
})
