import { render } from 'preact'
import { App } from './app'
import { Player } from './player'
import './style.css'

const player = new Player()
render(<App player={player} />, document.getElementById('xray')!)

// Served by a program, the page shows it. With ?recording=FILE it shows a file beside it. A
// recording may be in the page, too.
const inside = document.getElementById('recording')
const recording = new URLSearchParams(location.search).get('recording')
if (inside) {
  player.open(inside.textContent ?? '', inside.dataset.name ?? '')
} else if (recording) {
  fetch(recording)
    .then((answer) => answer.ok ? answer.text() : Promise.reject(new Error(answer.statusText)))
    .then((text) => player.open(text, recording.split('/').pop()!))
    .catch((e: Error) => { player.error = `${recording} cannot be read: ${e.message}.` })
} else if (location.protocol !== 'file:') {
  player.connect('events')
}
