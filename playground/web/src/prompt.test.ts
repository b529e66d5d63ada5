import assert from 'node:assert/strict'
import { test } from 'node:test'
import { complete, History, readsInput, shorten } from './prompt'

test('up and down go through what was typed, and a line that was begun comes back', () => {
  const h = new History()
  for (const line of ['get pods', 'get nodes', 'get nodes', '  ']) h.add(line)
  assert.equal(h.up('get dep'), 'get nodes')
  assert.equal(h.up(''), 'get pods')
  assert.equal(h.up(''), 'get pods', 'there is none before')
  assert.equal(h.down(''), 'get nodes')
  assert.equal(h.down(''), 'get dep')
  assert.equal(h.down('get dep'), 'get dep')
  assert.equal(new History().up('x'), 'x')
})

test('Tab adds what all words have in common, and a space after a single one', () => {
  assert.equal(complete('get po', ['pods']), 'get pods ')
  assert.equal(complete('get pod web-1', ['web-1-a', 'web-1-b']), 'get pod web-1-')
  assert.equal(complete('rollout ', ['status', 'undo']), 'rollout ')
  assert.equal(complete('scale deployment web --re', ['--replicas=']), 'scale deployment web --replicas=')
  assert.equal(complete('gte ', []), 'gte ')
})

test('the text box is there for lines that read it, and for no others', () => {
  for (const line of ['apply -f -', 'kubectl apply -f-', 'apply --filename=- ', 'apply --filename -']) assert.ok(readsInput(line), line)
  for (const line of ['apply -f a.yaml', 'get pods', 'logs -f web-1', 'apply -f --x']) assert.ok(!readsInput(line), line)
})

test('a page that is open for a day keeps the end of what was printed', () => {
  const text = Array.from({ length: 10_000 }, (_, i) => `line ${i}\n`).join('')
  const short = shorten(text)
  assert.ok(short.length <= 40_000)
  assert.match(short, /^line \d+\n/)
  assert.ok(short.endsWith('line 9999\n'))
})
