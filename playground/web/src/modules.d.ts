declare module 'go/wasm_exec.js'

declare module '*?worker&inline' {
  const PlaygroundWorker: new () => Worker
  export default PlaygroundWorker
}

declare module '*.css'

/** SIZE is how much the program is, as its build says: '5.5 MB'. */
declare const SIZE: string
