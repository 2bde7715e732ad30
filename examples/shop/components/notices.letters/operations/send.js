'use strict'

const MAIL = 'https://mail.example.com/letters'

async function effect (input, context) {
  const letter = await context.local.write({ input })

  if (letter instanceof Error)
    return letter

  const body = JSON.stringify({ to: input.values.email ?? input.values.account, ...letter })

  await context.fetch(MAIL, { method: 'POST', body })
}

exports.effect = effect
