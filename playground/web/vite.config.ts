import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { defineConfig, type Plugin } from 'vite'

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))

// The script that Go needs in a browser is part of Go, and fits the compiler that makes the program.
const goroot = execFileSync('go', ['env', 'GOROOT'], { encoding: 'utf8' }).trim()

// X-ray's style is for a page; here everything is in the shadow of an element.
const inShadow: Plugin = {
  name: 'in-shadow',
  enforce: 'pre',
  transform: (code, id) => (id.endsWith('.css') ? code.replace(/:root\b/g, ':host') : null),
}

// A classic script, because a page from file:// may not load modules.
export default defineConfig({
  plugins: [inShadow],
  resolve: {
    alias: { 'go/wasm_exec.js': `${goroot}/lib/wasm/wasm_exec.js`, preact: here('node_modules/preact') },
  },
  esbuild: { jsx: 'automatic', jsxImportSource: 'preact', legalComments: 'none' },
  publicDir: false,
  build: {
    target: 'es2022',
    reportCompressedSize: false,
    lib: { entry: 'src/main.tsx', formats: ['iife'], name: 'loopwrightPlayground', fileName: () => 'playground.js', cssFileName: 'playground' },
  },
  define: { 'process.env.NODE_ENV': '"production"', SIZE: JSON.stringify(process.env.PLAYGROUND_SIZE ?? 'some MB') },
})
