import { defineConfig } from 'vite'
import { viteSingleFile } from 'vite-plugin-singlefile'

// One file with everything in it: the program embeds it, and it opens from a folder, too.
export default defineConfig({
  plugins: [viteSingleFile()],
  esbuild: { jsx: 'automatic', jsxImportSource: 'preact', legalComments: 'none' },
  build: { target: 'es2022', reportCompressedSize: false },
})
