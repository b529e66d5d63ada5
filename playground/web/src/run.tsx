// <loop-run program="06-queue/naive" question="how many Pods?">: a chapter's program, below the question
// that its text asks. Nothing is loaded until open is called; whatever is inside stays until then.

import { render } from 'preact'
import { baseOf } from './base'
import { Cluster } from './cluster'
import { RunView } from './run-view'

export class LoopRun extends HTMLElement {
  private loading: Promise<Cluster> | undefined

  /** open asks the question, and loads the program in the meantime. */
  open() {
    const root = this.shadowRoot ?? this.attachShadow({ mode: 'open' })
    root.replaceChildren(Object.assign(document.createElement('link'), { rel: 'stylesheet', href: `${baseOf(this)}playground.css` }))
    const place = root.appendChild(document.createElement('div'))
    render(<RunView name={this.getAttribute('program') ?? ''} question={this.getAttribute('question') ?? ''}
      loaded={this.load()} again={() => this.load()} close={() => this.close()} />, place)
  }

  private load(): Promise<Cluster> {
    this.loading = Cluster.load(baseOf(this))
    return this.loading
  }

  /** close ends the program, and leaves the element as it was, for whoever offers it to offer it again. */
  close() {
    const place = this.shadowRoot?.querySelector('div')
    if (place) render(null, place)
    this.shadowRoot?.replaceChildren(document.createElement('slot'))
    this.loading?.then((cluster) => cluster.close(), () => {})
    this.loading = undefined
    this.dispatchEvent(new Event('close'))
  }

  disconnectedCallback() { if (this.loading) this.close() }
}
customElements.define('loop-run', LoopRun)
